"""The end of the standard input as a word to stop: the program at its other end is gone.

A parent that is killed says nothing. The system closes its end of the pipe all the same.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

logger = logging.getLogger(__name__)

_INPUT: Final = 0
_PASSED_OVER_BYTES: Final = 65536


async def stop_at_end_of_input(stop: Callable[[], None]) -> None:
    """Call `stop` when the standard input ends. All that comes before is passed over."""
    with suppress(OSError):  # a file or no input cannot be waited for: it has ended
        while True:
            await trio.lowlevel.wait_readable(_INPUT)
            if not os.read(_INPUT, _PASSED_OVER_BYTES):
                break
    logger.info("stopping, as the standard input has ended")
    stop()
