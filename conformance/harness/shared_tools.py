"""Apache Kafka's tools in one Java process for all tests of a run: starting one each time takes a
second."""

from __future__ import annotations

import atexit
import subprocess
import threading
from typing import Final

from conformance.harness.tool_process import Ran, ToolProcess

_LOCK: Final = threading.Lock()
_RUNNING: Final[list[ToolProcess]] = []


def run_shared(tool: str, *arguments: str, seconds: float) -> Ran:
    """Run a tool to its end; raises subprocess.TimeoutExpired, and the next has a new process."""
    with _LOCK:
        if not _RUNNING or _RUNNING[0].process.poll() is not None:
            _RUNNING[:] = [ToolProcess(log_level="warn")]
        (process,) = _RUNNING
        late = threading.Timer(seconds, process.process.kill)
        late.start()
        try:
            return process.ran(tool, *arguments)
        except EOFError:
            process.process.wait()
            raise subprocess.TimeoutExpired([tool, *arguments], seconds) from None
        finally:
            late.cancel()


@atexit.register
def _end() -> None:
    for process in _RUNNING:
        if process.process.poll() is None:
            process.__exit__()
