"""Durations as Java reads them; test_group_configs of the referee asks a running Kafka."""

from __future__ import annotations

import pytest

from kafkalite.config.java_duration import duration_ns

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P1D", 86_400),
        ("PT1H2M3S", 3_723),
        ("PT0.25S", 0.25),
        ("PT0,5S", 0.5),
        ("PT1.S", 1),
        ("P2DT12H", 216_000),
        ("pt5m", 300),
        ("PT+1H", 3_600),
        ("PT-1H", -3_600),
        ("-PT-1H", 3_600),
        ("P1DT-1H", 82_800),
        ("PT-0.5S", -0.5),
        ("PT-1.5S", -1.5),
        ("PT9223372036854775807S", 2**63 - 1),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_ns(text) == seconds * SECOND


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1DT", "1H", "P1Y", "P1W", "PT1M1H", "PT.5S", "PT1.5M", "tomorrow"),
        *("PT1.1234567891S", "PT9223372036854775808S", "P106751991167301D", "PT\u0661H"),
        "P1DT9223372036854775807S",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        duration_ns(text)
