"""`kafka-storage format` in the Java process that all tools share."""

from __future__ import annotations

from conformance.harness.process import DidNotStart
from conformance.harness.shared_tools import run_shared

SECONDS = 180.0


def format_storage(*arguments: str) -> None:
    """Format the directories that the flags name, by the newest release.

    Raises DidNotStart with what the tool says.
    """
    ran = run_shared("kafka-storage", "format", *arguments, seconds=SECONDS)
    if ran.status != 0:
        raise DidNotStart(f"format failed:\n{ran.output}{ran.errors}")
