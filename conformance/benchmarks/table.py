"""THE table: every measure, its figures, and the bar each figure is held to.

A measure names its sampler (`module:class` of this package, see sampling.py), so that reading the
table imports nothing. A bar is on the ratio kafkalite : Apache Kafka of one run, or, where it says
a unit, on kafkalite's own figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, Final

from conformance.benchmarks.shapes import SHAPES, Shape, drawn

# The row whose shape a seed draws.
DRAWN: Final = "drawn-shape"


class Best(Enum):
    """The good end of a figure."""

    HIGH = ">="
    LOW = "<="


@dataclass(frozen=True)
class Bar:
    """The limit of the median of all rounds, or of each: of the ratio, or of kafkalite's figure."""

    best: Best
    limit: float
    is_absolute: bool = False
    in_each_round: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.best is Best.HIGH else value <= self.limit


@dataclass(frozen=True)
class Figure:
    """One number that every sample of a measure has."""

    name: str
    bar: Bar | None = None
    digits: int = 2


@dataclass(frozen=True)
class Plot:
    """Figures named by numbers are points of a curve."""

    file: str
    x_label: str
    y_label: str


@dataclass(frozen=True)
class Measure:
    """One row: `rounds` samples of each broker, in turns. A growing row repeats each size itself.

    `is_still`: the other broker is stopped meanwhile, for an idle JVM wakes up hundreds of times a
    second. Not where a sample takes so long that it would miss the time.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    sampler: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 5
    plot: Plot | None = None
    is_still: bool = False


# Bars on the ratio, and on kafkalite's own figure.
at_least: Final = partial(Bar, Best.HIGH)
at_most: Final = partial(Bar, Best.LOW)
no_less_than: Final = partial(Bar, Best.HIGH, is_absolute=True)
no_more_than: Final = partial(Bar, Best.LOW, is_absolute=True)
always_at_most: Final = partial(Bar, Best.LOW, in_each_round=True)


def _bulk(codec: str) -> Measure:
    return Measure(
        f"bulk-produce-{codec}",
        f"bulk produce, {codec}, 100 B records",
        (
            Figure("thousand records/s", at_least(1.0), 0),
            Figure("CPU s per million records", at_most(0.5), 3),
        ),
        "bulk:Produce",
        {"codec": codec, "record_bytes": 100, "records": 3_000_000},
        rounds=3,
        is_still=True,
    )


def _produce(name: str, title: str, rate: float, cpu: Bar, **more: bool) -> Measure:
    return Measure(
        name,
        title,
        (Figure("MB/s", at_least(rate), 0), Figure("CPU s per GB", cpu)),
        "bulk:Produce",
        {"codec": "none", "record_bytes": 1000, "records": 600_000, **more},
        rounds=7,
        is_still=True,
    )


def _consume(name: str, title: str, consumers: int, **more: bool) -> Measure:
    return Measure(
        name,
        title,
        (Figure("MB/s", at_least(1.0), 0), Figure("CPU s per GB", at_most(1.0))),
        "bulk:Consume",
        {"consumers": consumers, **more},
        is_still=True,
    )


def _tiny(name: str, title: str, **arguments: int) -> Measure:
    return Measure(
        f"tiny-produce-{name}",
        f"tiny Produce, {title}",
        (
            Figure("requests/s", at_least(1.0), 0),
            Figure("requests per CPU s", at_least(1.3), 0),
        ),
        "tiny:Tiny",
        {"request": "produce", **arguments},
        is_still=True,
    )


def _small(name: str, title: str, request: str, connections: int = 8) -> Measure:
    return Measure(
        name,
        f"{title}, {connections} connection{'s' if connections > 1 else ''}",
        (Figure("requests/s", None, 0), Figure("requests per CPU s", at_least(1.3), 0)),
        "tiny:Tiny",
        {"request": request, "connections": connections},
        is_still=True,
    )


def of_shape(shape: Shape, name: str | None = None) -> Measure:
    """A shape of requests; it has the name of the shape, or one that it keeps for all shapes."""
    rate = at_least(1.0) if shape.api == "produce" else None
    return Measure(
        name or shape.name,
        shape.title,
        (Figure("requests/s", rate, 0), Figure("requests per CPU s", at_least(1.3), 0)),
        "shaped:Shaped",
        {"shape": shape},
        rounds=3,
        is_still=True,
    )


def drawn_measure(seed: int) -> Measure:
    """The row for a shape that no one chose."""
    measure = of_shape(drawn(seed), DRAWN)
    return replace(measure, title=f"drawn by {seed}: {measure.title}")


def _crowd(name: str, title: str, count: int, *, parked: bool) -> Measure:
    return Measure(
        name,
        title,
        (Figure("% of a core", no_more_than(1.0)), Figure("KB each", no_more_than(40.0), 0)),
        "crowds:Crowd",
        {"parked": parked, "count": count},
        rounds=3,
    )


def _logins(name: str, title: str, way: str, count: int) -> Measure:
    return Measure(
        name,
        title,
        (Figure("logins per CPU s", at_least(1.0), 0),),
        "secured:Logins",
        {"way": way, "count": count},
        rounds=5,
        is_still=True,
    )


def _living(protocol: str) -> Measure:
    return Measure(
        f"living-{protocol}",
        f"1,000 members of the {protocol} protocol, 1,000 heartbeats in a second",
        (Figure("% of a core", no_more_than(10.0), 1), Figure("heartbeats/s", None, 0)),
        "heartbeats:Living",
        {"protocol": protocol},
        rounds=3,
    )


def _taking(consumers: int) -> Measure:
    return Measure(
        f"share-{consumers}",
        "100-byte records fetched and accepted by "
        f"{consumers} member{'s' if consumers > 1 else ''} of a share group",
        (Figure("MB/s", at_least(1.0), 1), Figure("records per CPU s", at_least(1.0), 0)),
        "queues:Taking",
        {"members": consumers},
        rounds=5,
        is_still=True,
    )


def _growth(
    name: str, title: str, sampler: str, sizes: str, plot: Plot, steepest: float
) -> Measure:
    points = tuple(Figure(size) for size in sizes.split())
    return Measure(
        name,
        title,
        (*points, Figure("steepest rise", no_more_than(steepest))),
        f"growth:{sampler}",
        {"sizes": [int(size) for size in sizes.split()]},
        rounds=1,
        plot=plot,
    )


_STALLS = (
    Figure("p99 ms alone"),
    Figure("p99 ms beside it", at_most(1.0)),
)

MEASURES: tuple[Measure, ...] = (
    _produce("bulk-produce", "bulk produce, 1 KB records, acks=all", 1.2, always_at_most(0.5)),
    *(_bulk(codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
    _consume("bulk-consume-1", "bulk consume, 1 consumer", 1),
    _consume("bulk-consume-8", "bulk consume, 8 consumers", 8),
    Measure(
        "bulk-both",
        "8 producers and 8 consumers at once, 32 partitions",
        (Figure("MB/s in + out", at_least(1.0), 0), Figure("CPU s per GB")),
        "bulk:Both",
        rounds=3,
        is_still=True,
    ),
    _tiny("1", "1 connection", connections=1),
    _tiny("8", "8 connections", connections=8),
    _tiny("8x16", "8 connections, 16 in flight", connections=8, in_flight=16),
    _tiny("100", "100 connections", connections=100),
    _small("fetch-1", "Fetch of 1 record", "fetch", 1),
    _small("fetch-8", "Fetch of 1 record", "fetch"),
    _small("list-offsets", "ListOffsets latest", "list_offsets"),
    _small("metadata", "Metadata of 1 topic", "metadata"),
    _small("heartbeat", "Heartbeat", "heartbeat"),
    _small("offset-commit", "OffsetCommit", "offset_commit"),
    *(of_shape(shape) for shape in SHAPES),
    drawn_measure(0),
    Measure(
        "latency",
        "produce -> consume, 1 record at a time",
        (
            Figure("p50 ms", at_most(1.0), 3),
            Figure("p99 ms", always_at_most(0.3), 3),
            Figure("p99.9 ms", always_at_most(0.3), 3),
        ),
        "latency:Alone",
        is_still=True,
    ),
    Measure(
        "latency-loaded",
        "produce -> consume beside 100 MB/s of bulk load",
        (Figure("p50 ms", None, 3), Figure("p99 ms", at_most(1.0), 3)),
        "latency:BesideLoad",
        rounds=3,
        is_still=True,
    ),
    Measure(
        "cold-start",
        "process start to first Metadata answer",
        (Figure("s", no_more_than(0.25)),),
        "process:Start",
    ),
    Measure(
        "memory",
        "memory of the process",
        (
            Figure("MB idle", no_more_than(40), 0),
            Figure("MB after 10 GB in and out", no_more_than(80), 0),
        ),
        "process:Memory",
        rounds=3,
    ),
    _produce("tls-produce", "bulk produce through TLS, 1 KB records", 1.0, at_most(1.0), tls=True),
    _consume("tls-consume", "bulk consume through TLS, 1 consumer", 1, tls=True),
    _logins("tls-handshakes", "new connections with a whole TLS handshake", "tls", 1000),
    _logins("scram-logins", "new connections with a login by SCRAM-SHA-256", "scram", 500),
    Measure(
        "tiny-with-acls",
        "tiny Produce, 8 connections, with 100 ACLs and without",
        (Figure("with ACLs : without", no_less_than(0.95), 3),),
        "secured:TinyWithAcls",
        rounds=7,
        is_still=True,
    ),
    Measure(
        "tiny-without-acls",
        "tiny Produce over plaintext, 8 connections, beside listeners for TLS and SASL and alone",
        (Figure("secured listeners : none", no_less_than(0.98), 3),),
        "secured:TinyWithoutAcls",
        rounds=7,
        is_still=True,
    ),
    _crowd("idle-connections", "1,000 idle connections", 1000, parked=False),
    _crowd("silent-connections", "10,000 idle connections", 10_000, parked=False),
    _crowd("parked-fetches", "1,000 parked fetches", 1000, parked=True),
    _living("classic"),
    _living("consumer"),
    _living("share"),
    _living("streams"),
    _taking(1),
    _taking(8),
    Measure(
        "share-in-flight",
        "memory for 1,000,000 records that members of a share group have",
        (
            Figure("MB as batches", no_more_than(20.0), 0),
            Figure("MB apart", no_more_than(150.0), 0),
        ),
        "queues:InFlight",
        rounds=3,
    ),
    Measure(
        "spark",
        "Spark, default trigger: produce -> foreachBatch; broker beside an idle stream",
        (
            Figure("median ms", at_most(0.5), 0),
            Figure("p90 ms", at_most(0.5), 0),
            Figure("% of a core idle", no_more_than(8.0), 1),
        ),
        "sparks:Stream",
        rounds=3,
    ),
    _growth(
        "growth-partitions",
        "CPU microseconds per tiny Produce, by the number of partitions written to",
        "Partitions",
        "1 10 100 1000 10000",
        Plot("growth-partitions.svg", "partitions", "CPU microseconds per Produce"),
        2.0,
    ),
    _growth(
        "growth-topics",
        "CPU microseconds per topic in a Metadata answer, by the number of topics",
        "Topics",
        "1 10 100 1000",
        Plot("growth-topics.svg", "topics", "CPU microseconds per topic"),
        1.0,
    ),
    _growth(
        "growth-log",
        "CPU microseconds per Fetch at a random offset, "
        "by the size of the log in MB (a sparse file)",
        "LogSize",
        "1 10 100 1000 10000 100000",
        Plot("growth-log.svg", "MB in the log", "CPU microseconds per random Fetch"),
        2.0,
    ),
    Measure(
        "zero-window",
        "produce -> consume of others beside a consumer that never reads what it asked for",
        _STALLS,
        "stalls:ZeroWindow",
        rounds=3,
        is_still=True,
    ),
    Measure(
        "cold-log",
        "produce -> consume of others beside a consumer of a cold 5 GB log",
        _STALLS,
        "stalls:ColdLog",
        {"gigabytes": 5},
        rounds=3,
        is_still=True,
    ),
    Measure(
        "slow-disk",
        "produce -> consume of others beside a consumer of a cold log on a disk of 40 MB/s",
        _STALLS,
        "stalls:SlowDisk",
        {"gigabytes": 1},
        rounds=3,
        is_still=True,
    ),
)

BY_NAME = {measure.name: measure for measure in MEASURES}
