"""Signals that come while the broker starts: the start is given up as a whole.

Python's own answers are a traceback for SIGINT, and for the others an end at once that leaves
temporary directories behind. In a container SIGTERM would not even end process 1. The broker
that serves takes signals itself.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

logger = logging.getLogger(__name__)

# Shells add this to the number of the signal that ended a process.
_ENDED_BY_SIGNAL = 128


@contextmanager
def start_given_up_on_signals() -> Generator[None]:
    """SIGINT and SIGTERM unwind what is within, and exit with 130 or 143; SIGHUP has no effect.

    SIGTERM comes as the SIGINT of this moment, as trio knows when that one may interrupt it.
    """
    came = signal.SIGINT

    def as_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)

    before = [(each, signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGHUP)]
    signal.signal(signal.SIGTERM, as_interrupt)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    except KeyboardInterrupt:
        logger.info("stopping on %s", came.name)
        raise SystemExit(_ENDED_BY_SIGNAL + came) from None
    finally:
        for number, handler in before:
            signal.signal(number, handler)
