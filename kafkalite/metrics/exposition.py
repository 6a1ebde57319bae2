"""Readings as text: Prometheus' own client library writes it, in the format the scraper prefers.

The process' own metrics (memory, CPU, descriptors, garbage collection) are that library's, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from kafkalite.metrics.readings import Distribution, Readings
from kafkalite.metrics.table import BUCKETS, METRICS, Kind, Metric

if TYPE_CHECKING:
    from kafkalite.telemetry.series import Series

_PUSHED: Final = "Pushed by clients (KIP-714)."


class Exposition:
    """Makes text of readings. Touches nothing else, and so may run in any thread, one at a time."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._collector = _Collector()
        self._registry.register(self._collector)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def text(self, readings: Readings, accept: str) -> tuple[bytes, str]:
        """The text, and its content type, for a scraper that sent this Accept header."""
        self._collector.readings = readings
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


class _Collector(Collector):
    def __init__(self) -> None:
        self.readings = Readings()

    def collect(self) -> Iterator[Family]:
        for metric in METRICS.values():
            yield self._histogram(metric) if metric.kind is Kind.HISTOGRAM else self._plain(metric)
        yield from _pushed(self.readings.pushed)

    def _plain(self, metric: Metric) -> Family:
        make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        family = make(metric.name, metric.meaning, labels=metric.labels)
        for labels, value in self.readings.values[metric.name]:
            family.add_metric(labels, value)
        return family

    def _histogram(self, metric: Metric) -> Family:
        family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        for labels, distribution in self.readings.distributions[metric.name]:
            family.add_metric(labels, _cumulative(distribution), distribution.sum_seconds)
        return family


def _pushed(pushed: Iterable[tuple[Series, float]]) -> Iterable[Family]:
    """The metrics that clients pushed. Labels may differ from one client to the next."""
    families: dict[str, Family] = {}
    for series, value in pushed:
        family = families.get(series.name)
        if family is None:
            kind = "counter" if series.is_counter else "gauge"
            name = series.name.removesuffix("_total") if series.is_counter else series.name
            family = families[series.name] = Family(name, _PUSHED, kind)
        family.add_sample(series.name, dict(series.labels), value)
    return families.values()


def _cumulative(distribution: Distribution) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = []
    total = 0
    for limit, count in zip((*map(str, BUCKETS), "+Inf"), distribution.counts, strict=True):
        total += count
        buckets.append((limit, total))
    return buckets
