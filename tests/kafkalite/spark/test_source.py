"""The data source plans and reads as Spark asks it to; Spark itself is not needed for that."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kafkalite.log.directory import LogDirectory
from kafkalite.spark.errors import OffsetOutOfRange, SparkSourceError
from kafkalite.spark.options import read_options
from kafkalite.spark.pipelines import archive
from kafkalite.spark.planning import OffsetRange
from kafkalite.spark.schema import spark_schema
from kafkalite.spark.source import KafkaliteDataSource, Reader, StreamReader, read_range
from kafkalite.testing import broker
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory
from tests.kafkalite.spark.local_spark import LocalSpark


@pytest.fixture(scope="module")
def shared() -> Iterator[broker]:
    with broker() as b:
        yield b


@pytest.fixture
def running(shared: broker) -> Iterator[broker]:
    shared.create_topic("t", partitions=2)
    for value in range(5):
        shared.produce("t", str(value))
    yield shared
    shared.reset()


def given(running: broker, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": running.bootstrap,
        "subscribe": "t",
        "startingoffsets": "earliest",
        **more,
    }


def stream(running: broker, **more: str) -> StreamReader:
    return StreamReader(read_options(given(running, **more), streaming=True))


def values(parts: Any, reader: Any) -> list[bytes]:
    return [
        value
        for part in parts
        for rows in reader.read(part)
        for value in rows.column("value").to_pylist()
    ]


def test_the_source_says_what_it_is(running: broker) -> None:
    source = KafkaliteDataSource(given(running, includeheaders="true"))
    assert source.name() == "kafkalite"
    assert source.schema() == spark_schema(True)
    assert KafkaliteDataSource(given(running)).schema() == spark_schema(False)
    with pytest.raises(SparkSourceError):
        KafkaliteDataSource({"subscribe": "t"}).reader(None)


def test_a_batch_is_read_as_it_was_planned(running: broker) -> None:
    reader = Reader(read_options(given(running), streaming=False))
    parts = reader.partitions()
    running.produce("t", "later")
    assert values(parts, reader) == [b"0", b"1", b"2", b"3", b"4"]
    assert list(reader.read(InputPartition(0))) == []  # Spark's own, where there are none


def test_a_stream_goes_on_from_its_offsets(running: broker) -> None:
    reader = stream(running)
    start = reader.initialOffset()
    assert start == {"t": {"0": 0, "1": 0}}
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == reader.reportLatestOffset() == {"t": {"0": 5, "1": 0}}
    assert len(values(reader.partitions(start, end), reader)) == 5
    running.produce("t", "5", partition=1)
    after = reader.latestOffset(end, reader.getDefaultReadLimit())
    assert values(reader.partitions(end, after), reader) == [b"5"]
    assert reader.partitions(after, after) == []
    reader.stop()


def test_a_micro_batch_is_no_larger_than_asked(running: broker) -> None:
    reader = stream(running, maxoffsetspertrigger="2")
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    start = reader.initialOffset()
    first = reader.latestOffset(start, limit)
    assert first == {"t": {"0": 2, "1": 0}}
    assert reader.latestOffset(first, limit) == {"t": {"0": 4, "1": 0}}
    reader.stop()


def test_a_run_over_what_is_available_ends_there(running: broker) -> None:
    reader = stream(running)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    running.produce("t", "later")
    assert reader.latestOffset(start, ReadAllAvailable()) == {"t": {"0": 5, "1": 0}}
    running.delete_topic("t")
    running.create_topic("t", partitions=2)
    with pytest.raises(OffsetOutOfRange, match=r"end with offset 5 of t-0, which is gone"):
        reader.latestOffset(start, ReadAllAvailable())
    reader.stop()


def test_a_reader_goes_to_a_task_without_its_connections(running: broker) -> None:
    reader = stream(running)
    reader.initialOffset()
    sent = pickle.loads(pickle.dumps(reader))
    part = reader.partitions({"t": {"0": 3}}, {"t": {"0": 5}})
    assert values(part, sent) == [b"3", b"4"]
    reader.stop()


def test_records_that_are_gone_are_told_or_left_out(running: broker) -> None:
    running.lose("t", 0, 3)
    wanted = OffsetRange("t", 0, 1, 5)

    def read(**more: str) -> list[bytes]:
        options = read_options(given(running, **more), streaming=False)
        return [
            value
            for rows in read_range(options, wanted)
            for value in rows.column("value").to_pylist()
        ]

    with pytest.raises(OffsetOutOfRange, match="failOnDataLoss"):
        read()
    assert read(failondataloss="false") == [b"3", b"4"]


def test_records_whose_topic_is_gone_are_told_or_left_out(running: broker) -> None:
    """So that a micro-batch in the checkpoint does not stop the query for ever."""
    running.create_topic("u")
    running.produce("u", "stays")

    def both(**more: str) -> list[bytes]:
        options = {**given(running, **more), "subscribepattern": "[tu]"}
        del options["subscribe"]
        reader = StreamReader(read_options(options, streaming=True))
        ends = {"t": {"0": 5, "1": 0}, "u": {"0": 1}}
        try:
            return values(reader.partitions({"t": {"0": 0, "1": 0}, "u": {"0": 0}}, ends), reader)
        finally:
            reader.stop()

    assert len(both()) == 6
    running.delete_topic("t")
    assert both(failondataloss="false") == [b"stays"]
    with pytest.raises(OffsetOutOfRange, match=r"no topic 't'.*failOnDataLoss"):
        both()


@pytest.mark.parametrize("available_now", [True, False])
def test_nothing_goes_back_when_a_killed_broker_starts(
    data_directory: Callable[..., DataDirectory], tmp_path: Path, available_now: bool
) -> None:
    """Its files say only some seconds later what it knows to be committed."""
    made = data_directory()
    made.records(b"told")
    made.checkpoint(1)
    made.records(b"not told yet")
    path, root = made.kill(), tmp_path / "archive"
    options = {"path": str(path), "subscribe": TOPIC}
    stream = StreamReader(read_options(options, streaming=True))
    everything = {TOPIC: {"0": 2}}
    assert stream.latestOffset({TOPIC: {"0": 0}}, ReadAllAvailable()) == everything
    assert archive(root, data_dir=path, spark=LocalSpark()).rows == 2
    held = LogDirectory.open(path, cluster_id=None, node_id=1, now_ms=lambda: 0)
    try:
        if available_now:
            stream.prepareForTriggerAvailableNow()
        assert stream.latestOffset(everything, ReadAllAvailable()) == everything
        assert stream.latestOffset({TOPIC: {"0": 1}}, ReadAllAvailable()) == {TOPIC: {"0": 1}}
        assert stream.latestOffset({TOPIC: {"0": 3}}, ReadAllAvailable()) == everything
        with pytest.raises(OffsetOutOfRange, match="the end of topic-0 was 3 and is 2"):
            stream.partitions({TOPIC: {"0": 3}}, everything)
        assert archive(root, data_dir=path, spark=LocalSpark()).rows == 2
    finally:
        held.close()
