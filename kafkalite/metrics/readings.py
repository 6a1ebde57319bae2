"""Readings: what all metrics were at one moment, as plain values that no longer change.

Taken in the event loop, where nothing comes between; made into text elsewhere, in its own time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kafkalite.metrics.table import BUCKETS, METRICS, Kind

if TYPE_CHECKING:
    from kafkalite.telemetry.series import Series

Labels = tuple[str, ...]

_LEAST: Final = BUCKETS[0]


class Distribution:
    """Counts of durations by bucket. The last bucket is for those above all limits."""

    __slots__ = ("counts", "sum_seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum_seconds = 0.0

    def add(self, seconds: float) -> None:
        # Most requests are quick.
        self.counts[0 if seconds <= _LEAST else bisect_left(BUCKETS, seconds)] += 1
        self.sum_seconds += seconds

    def copy(self) -> Distribution:
        copied = Distribution()
        copied.counts = self.counts.copy()
        copied.sum_seconds = self.sum_seconds
        return copied


class Readings:
    """Values and distributions by metric; the labels are in the order of the table."""

    def __init__(self) -> None:
        self.values: defaultdict[str, list[tuple[Labels, float]]] = defaultdict(list)
        # Metrics that clients pushed; their names are the clients'.
        self.pushed: list[tuple[Series, float]] = []
        self.distributions: defaultdict[str, list[tuple[Labels, Distribution]]] = defaultdict(list)

    def put(self, name: str, value: float, *labels: str) -> None:
        """A counter or a gauge. A name that is not in the table is a KeyError."""
        assert METRICS[name].kind is not Kind.HISTOGRAM
        self.values[name].append((labels, value))

    def put_distribution(self, name: str, distribution: Distribution, *labels: str) -> None:
        """A histogram."""
        assert METRICS[name].kind is Kind.HISTOGRAM
        self.distributions[name].append((labels, distribution.copy()))
