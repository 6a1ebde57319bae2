"""The error of a wait that was in vain."""

from __future__ import annotations


class WaitTimeout(AssertionError):
    """A condition did not come true in time; the text says what is missing."""
