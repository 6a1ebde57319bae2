"""Durations as people write them: "250ms", "46s", "5m", "2h", "7d", also in a row ("1h30m")."""

from __future__ import annotations

import re
from typing import Final

from kafkalite.control.problems import Problem

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# The years that datetime and the time of a record have room for, in days.
_MOST_DAYS: Final = 10_000 * 365
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def milliseconds(text: str, *, field: str = "duration") -> int:
    """The milliseconds that a duration stands for; it may begin with a minus.

    Raises Problem, which names `field`.
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text)
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise Problem(
            "invalid_duration",
            f"{field} is {text!r}, which is not a duration",
            value=text,
            hint='write a number and a unit: "250ms", "46s", "5m", "2h", "7d"',
        )
    length_ms = sum(float(number) * _UNITS_MS[unit] for number, unit in parts)
    if length_ms > _MOST_DAYS * _UNITS_MS["d"]:
        raise Problem(
            "invalid_duration", f"{field} is {text!r}, which is more than 10,000 years", value=text
        )
    return sign * round(length_ms)


def seconds(text: str, *, field: str = "duration") -> float:
    """The same in seconds, and never negative."""
    value = milliseconds(text, field=field)
    if value < 0:
        raise Problem(
            "invalid_duration",
            f"{field} is {text!r}, which is negative",
            value=text,
            hint="write it without the minus",
        )
    return value / 1000


def shown(duration_ms: float) -> str:
    """A duration for a sentence: "5.1 s", "120 ms", "2 h 5 min"."""
    if duration_ms < 1000:
        return f"{duration_ms:.0f} ms"
    if duration_ms < 120_000:
        return f"{duration_ms / 1000:.1f} s"
    minutes = round(duration_ms / 60_000)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
