"""Durations as Java reads them (java.time.Duration.parse): ISO 8601's days, hours, minutes,
seconds."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"([-+]?[0-9]+)"
_PATTERN: Final = re.compile(
    rf"([-+]?)P(?:{_NUMBER}D)?"
    rf"(T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}(?:[.,]([0-9]{{0,9}}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_NANOSECONDS: Final = 1_000_000_000
_LONGS: Final = range(-(2**63), 2**63)


def duration_ns(text: str) -> int:
    """The duration in nanoseconds; it may be negative. Raises ValueError."""
    found = _PATTERN.fullmatch(text)
    if found is None or found[3] == "T":
        raise ValueError(f"{text!r} is no duration")
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    parts = ((days, 86_400), (hours, 3_600), (minutes, 60), (seconds, 1))
    numbers = [(int(number), unit) for number, unit in parts if number is not None]
    total = sum(number * unit for number, unit in numbers)
    if not numbers or any(number * unit not in _LONGS for number, unit in numbers):
        raise ValueError(f"{text!r} is no duration")
    if total not in _LONGS:
        raise ValueError(f"{text!r} is no duration")
    nanoseconds = int((fraction or "").ljust(9, "0"))
    if seconds is not None and seconds.startswith("-"):
        nanoseconds = -nanoseconds
    duration = total * _NANOSECONDS + nanoseconds
    return -duration if sign == "-" else duration
