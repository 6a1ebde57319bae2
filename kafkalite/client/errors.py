"""Says what goes wrong for somebody who uses the verbs from Python."""

from __future__ import annotations


class WaitTimeout(AssertionError):
    """A condition did not come true in time; the text says what is missing."""
