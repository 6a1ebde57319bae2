"""Readings: values that later traffic does not change."""

from __future__ import annotations

import pytest

from kafkalite.metrics.readings import Distribution, Readings
from kafkalite.metrics.table import BUCKETS


def test_a_duration_falls_into_the_first_bucket_that_holds_it() -> None:
    distribution = Distribution()
    for seconds in (BUCKETS[0], BUCKETS[1], BUCKETS[-1] + 1):
        distribution.add(seconds)
    assert [index for index, count in enumerate(distribution.counts) if count] == [
        0,
        1,
        len(BUCKETS),
    ]
    assert distribution.sum_seconds == pytest.approx(BUCKETS[0] + BUCKETS[1] + BUCKETS[-1] + 1)


def test_a_reading_is_a_copy() -> None:
    readings, distribution = Readings(), Distribution()
    name = "kafkalite_request_duration_seconds"
    readings.put_distribution(name, distribution, "Fetch")
    distribution.add(1.0)
    ((labels, copied),) = readings.distributions[name]
    assert (labels, sum(copied.counts), copied.sum_seconds) == (("Fetch",), 0, 0.0)


def test_only_metrics_of_the_table_are_put() -> None:
    with pytest.raises(KeyError):
        Readings().put("kafkalite_nosuch", 1)
