"""Batch reads: what is asked for comes, whole, once, and as it was written."""

import itertools

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from conformance.harness.broker import Broker
from conformance.spark.client import KEEP, Client
from conformance.spark.reading import in_order, load, numbers

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def offsets(topic: str, *per_partition: int) -> str:
    """Spark's JSON: offsets of partitions 0, 1, ...; -2 is earliest, -1 latest."""
    inner = ", ".join(f'"{index}": {offset}' for index, offset in enumerate(per_partition))
    return f'{{"{topic}": {{{inner}}}}}'


def test_earliest_to_latest_is_the_default(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic, partitions=3)
    for partition in range(3):
        client.send(topic, range(partition, 30, 3), partition)
    assert numbers(load(spark.read, broker, subscribe=topic)) == list(range(30))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((-2, -2, -2), (-1, -1, -1), [*range(30)]),
        ((5, -2, 9), (-1, 3, 10), [*range(5, 10), *range(10, 13), 29]),
        ((3, 3, 3), (3, 4, 3), [13]),
    ],
)
def test_offsets_of_each_partition(
    spark: SparkSession,
    broker: Broker,
    client: Client,
    topic: str,
    start: tuple[int, ...],
    end: tuple[int, ...],
    expected: list[int],
) -> None:
    client.create(topic, partitions=3)
    for partition in range(3):
        client.send(topic, range(10 * partition, 10 * partition + 10), partition)
    frame = load(
        spark.read,
        broker,
        subscribe=topic,
        startingOffsets=offsets(topic, *start),
        endingOffsets=offsets(topic, *end),
    )
    assert numbers(frame) == expected


def test_subscribe_pattern_and_assign(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    for suffix, first in (("-a", 0), ("-b", 100), ("-other", 200)):
        client.create(topic + suffix, partitions=2)
        client.send(topic + suffix, range(first, first + 5), partition=0)
        client.send(topic + suffix, range(first + 50, first + 55), partition=1)
    a, b = [*range(5), *range(50, 55)], [*range(100, 105), *range(150, 155)]
    both = load(spark.read, broker, subscribe=f"{topic}-a,{topic}-b")
    assert numbers(both) == a + b
    by_pattern = load(spark.read, broker, subscribePattern=f"{topic}-[ab]$")
    assert numbers(by_pattern) == a + b
    assigned = load(spark.read, broker, assign=f'{{"{topic}-a": [1], "{topic}-b": [0]}}')
    assert numbers(assigned) == [*range(50, 55), *range(100, 105)]


def test_columns(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic, **KEEP)
    client.send(topic, ["value"], key=b"key", timestamp_ms=1_600_000_000_123)
    client.send(topic, [None], key=b"", timestamp_ms=1_600_000_000_124)
    client.send(topic, [""], timestamp_ms=1_600_000_000_125)
    first, second, third = in_order(load(spark.read, broker, subscribe=topic))
    assert first.asDict() == {
        "key": b"key",
        "value": b"value",
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": first.timestamp,
        "timestampType": 0,
    }
    assert first.timestamp.timestamp() == pytest.approx(1_600_000_000.123)
    assert (second.key, second.value, second.offset) == (b"", None, 1)
    assert (third.key, third.value, third.offset) == (None, b"", 2)


def test_log_append_time(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic, message_timestamp_type="LogAppendTime")
    client.send(topic, range(3), timestamp_ms=1_600_000_000_000)
    for row in in_order(load(spark.read, broker, subscribe=topic)):
        assert row.timestampType == 1
        assert row.timestamp.timestamp() > 1_700_000_000


def test_headers(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic)
    client.send(topic, ["two"], headers=[("a", b"1"), ("b", b"\x00\xff")])
    client.send(topic, ["repeated"], headers=[("a", b"1"), ("b", b""), ("a", b"2"), ("c", None)])
    client.send(topic, ["none"])
    frame = load(spark.read, broker, subscribe=topic, includeHeaders="true")
    seen = [
        row.headers and [(header.key, header.value) for header in row.headers]
        for row in in_order(frame)
    ]
    assert seen == [
        [("a", b"1"), ("b", b"\x00\xff")],
        [("a", b"1"), ("b", b""), ("a", b"2"), ("c", None)],
        None,
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(
    spark: SparkSession, broker: Broker, client: Client, topic: str, codec: str
) -> None:
    client.create(topic)
    values = [f"{number:06d}{'x' * 200}" for number in range(2_000)]
    client.send(topic, values, compression=codec)
    rows = in_order(load(spark.read, broker, subscribe=topic))
    assert [row.value.decode() for row in rows] == values
    assert [row.offset for row in rows] == list(range(2_000))


class TestByTimestamp:
    """Ten records in each of three partitions, all at one time for a partition and round."""

    TIMES = (1_600_000_000_000, 1_600_000_001_000, 1_600_000_002_000)

    @pytest.fixture
    def timed(self, client: Client, topic: str) -> str:
        """0-9 at the first time, 10-19 at the second, 20-29 at the third, in each partition."""
        client.create(topic, partitions=3, **KEEP)
        for partition, (round_, time) in itertools.product(range(3), enumerate(self.TIMES)):
            client.send(topic, range(10 * round_, 10 * round_ + 10), partition, timestamp_ms=time)
        return topic

    def per_partition(self, topic: str, timestamp_ms: int) -> str:
        return offsets(topic, timestamp_ms, timestamp_ms, timestamp_ms)

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            (TIMES[1], TIMES[2], range(10, 20)),
            (TIMES[1], None, range(10, 30)),
            (None, TIMES[2], range(20)),
            (TIMES[1] - 999, TIMES[1] + 1, range(10, 20)),
            (TIMES[0] - 5, TIMES[2] + 1, range(30)),  # an end nobody reaches is latest
        ],
    )
    @pytest.mark.parametrize("everywhere", [True, False], ids=["global", "per partition"])
    def test_start_and_end(
        self,
        spark: SparkSession,
        broker: Broker,
        timed: str,
        start: int | None,
        end: int | None,
        expected: range,
        everywhere: bool,
    ) -> None:
        options = {}
        for name, timestamp in (("starting", start), ("ending", end)):
            if timestamp is not None and everywhere:
                options[f"{name}Timestamp"] = str(timestamp)
            elif timestamp is not None:
                options[f"{name}OffsetsByTimestamp"] = self.per_partition(timed, timestamp)
        frame = load(spark.read, broker, subscribe=timed, **options)
        assert numbers(frame) == sorted([*expected] * 3)

    def test_a_start_that_nobody_reaches(
        self, spark: SparkSession, broker: Broker, timed: str
    ) -> None:
        late = str(self.TIMES[2] + 1)
        frame = load(spark.read, broker, subscribe=timed, startingTimestamp=late)
        with pytest.raises(PySparkException, match="No offset matched from request"):
            frame.collect()
        frame = load(
            spark.read,
            broker,
            subscribe=timed,
            startingTimestamp=late,
            startingOffsetsByTimestampStrategy="latest",
        )
        assert numbers(frame) == []

    def test_offsets_and_timestamps_together(
        self, spark: SparkSession, broker: Broker, timed: str
    ) -> None:
        frame = load(
            spark.read,
            broker,
            subscribe=timed,
            startingOffsets=offsets(timed, 5, 5, 5),
            endingOffsetsByTimestamp=self.per_partition(timed, self.TIMES[1]),
        )
        assert numbers(frame) == sorted([*range(5, 10)] * 3)


def test_offsets_are_bound_late(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    client.send(topic, range(10))
    frame = load(spark.read, broker, subscribe=topic)
    assert numbers(frame) == list(range(10))
    client.send(topic, range(10, 20))
    assert numbers(frame) == list(range(20))
    assert numbers(frame.union(frame)) == sorted([*range(20)] * 2)


def test_ranges_are_split(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    """Several consumers of one group read one partition, each its range."""
    client.create(topic, partitions=3)
    for partition, values in enumerate((range(10), range(10, 20), range(20, 21))):
        client.send(topic, values, partition)
    frame = load(spark.read, broker, subscribe=topic, minPartitions="6")
    assert frame.rdd.getNumPartitions() >= 6
    assert numbers(frame) == list(range(21))


def test_a_large_record(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    """A record beyond the fetch limits comes alone rather than never (KIP-74)."""
    client.create(topic)
    client.send(topic, ["small", "x" * 900_000, "small"])
    limits = {"kafka__max.partition.fetch.bytes": "1000", "kafka__fetch.max.bytes": "1000"}
    rows = in_order(load(spark.read, broker, subscribe=topic, **limits))
    assert [len(row.value) for row in rows] == [5, 900_000, 5]


def test_an_empty_topic(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic, partitions=2)
    assert numbers(load(spark.read, broker, subscribe=topic)) == []


def test_a_missing_topic_is_not_made(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    with pytest.raises(Py4JJavaError, match="UnknownTopicOrPartition"):
        load(spark.read, broker, subscribe=topic).collect()
    assert client.partition_count(topic) == 0


def test_a_hundred_thousand_records(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """Many polls of each consumer, each with two questions for the partition's ends."""
    client.create(topic, partitions=2)
    for partition in range(2):
        client.send(topic, range(50_000), partition, compression="lz4")
    frame = load(spark.read, broker, subscribe=topic)
    row = frame.selectExpr(
        "count(*) AS records",
        "sum(cast(cast(value AS string) AS long)) AS total",
        "count(DISTINCT partition, offset) AS places",
    ).first()
    assert row is not None
    assert (row.records, row.total, row.places) == (100_000, 2 * sum(range(50_000)), 100_000)
