"""Durations are read as people write them, and shown as people read them."""

from __future__ import annotations

import pytest

from kafkalite.control.durations import milliseconds, seconds, shown
from kafkalite.control.problems import Problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250ms", 250),
        ("46s", 46_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("7d", 604_800_000),
        ("1h30m", 5_400_000),
        ("1.5s", 1500),
        ("0s", 0),
        ("-7d", -604_800_000),
        ("-1m30s", -90_000),
    ],
)
def test_a_duration_is_read(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "-", "46", "s", "46 s", "46s ", "46x", "1h,30m", "--1s", "1s-1s", "1e3s"]
)
def test_what_is_no_duration_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Problem, match=r"timeout is .* which is not a duration") as caught:
        milliseconds(text, field="timeout")
    assert (caught.value.code, caught.value.value) == ("invalid_duration", text)


@pytest.mark.parametrize("text", ["3650001d", "-3650001d", "9" * 400 + "d"])
def test_what_no_clock_can_show_is_refused(text: str) -> None:
    with pytest.raises(Problem, match=r"by is .* which is more than 10,000 years"):
        milliseconds(text, field="by")


def test_seconds_are_never_negative() -> None:
    assert seconds("1500ms") == 1.5
    with pytest.raises(Problem, match="every is '-1s', which is negative"):
        seconds("-1s", field="every")


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (119_900, "119.9 s"),
        (120_000, "2 min"),
        (7_140_000, "119 min"),
        (7_500_000, "2 h 5 min"),
        (172_800_000, "2 d 0 h"),
        (277_200_000, "3 d 5 h"),
    ],
)
def test_a_duration_is_shown(duration_ms: float, expected: str) -> None:
    assert shown(duration_ms) == expected
