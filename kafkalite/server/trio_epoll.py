"""The descriptor on which trio itself waits, so that the poller can wait for it and its own at once.

trio has no public name for it. Where it is not found, or not what is expected (another trio, another
system), the poller waits in trio like anybody else: slower, and nothing else. A test says if that is so
with the trio that is installed.
"""

from __future__ import annotations

import importlib
import select
from typing import Any


def trio_epoll() -> int | None:
    """Trio's epoll, readable while trio has events to process; to be asked for inside of trio.run."""
    try:
        private: Any = importlib.import_module("trio._core._run")
        epoll: Any = private.GLOBAL_RUN_CONTEXT.runner.io_manager._epoll
    except (ImportError, AttributeError):
        return None
    return int(epoll.fileno()) if isinstance(epoll, select.epoll) else None
