"""The flushes that appends ask for (`flush.messages`), and the end of every flush.

A log by itself flushes in the append. A broker sets `later`, and does it in a thread: what the
append wrote is seen, and answered, when the flush is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkalite.log.log_state import LogState


class FlushRequests:
    """Functions to call with a log; shared by the logs of a data directory."""

    def __init__(self) -> None:
        # Called when an append asks for a flush; None: the append flushes, and waits for the disk.
        self.later: Callable[[LogState], None] | None = None
        # Called after each flush, whatever came of it.
        self.ended: Callable[[LogState], None] | None = None
