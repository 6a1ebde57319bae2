"""`kafka-storage format` in one Java process for all: starting one each time takes a second."""

from __future__ import annotations

import atexit
import threading
from functools import cache
from typing import TYPE_CHECKING

from conformance.harness.process import DidNotStart

if TYPE_CHECKING:
    from conformance.harness.tool_process import ToolProcess

_LOCK = threading.Lock()


@cache
def _process() -> ToolProcess:
    from conformance.harness.tool_process import ToolProcess  # which imports who formats

    process = ToolProcess()
    atexit.register(process.__exit__)
    return process


def format_storage(*arguments: str) -> None:
    """Format the directories that the flags name, by the newest release.

    Raises DidNotStart with what the tool says.
    """
    with _LOCK:
        status, said = _process().run("kafka-storage", "format", *arguments)
    if status != 0:
        raise DidNotStart(f"format failed:\n{said}")
