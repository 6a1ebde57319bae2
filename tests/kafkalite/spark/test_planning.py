"""Offsets to read, and the tasks that read them: the rules of Spark's own Kafka source."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from kafkalite.spark.client import TopicPartition
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.errors import OffsetOutOfRange, SparkSourceError
from kafkalite.spark.options import ReadOptions, read_options
from kafkalite.spark.planning import (
    OffsetRange,
    batch_ranges,
    cut,
    from_json,
    rate_limited,
    resolve,
    stream_ranges,
    subscribed,
    to_json,
)
from kafkalite.spark.record_readers import NONE_KNOWN

AT = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}


def test_tasks_are_cut_evenly() -> None:
    ranges = [OffsetRange("t", 0, 0, 101), OffsetRange("t", 1, 50, 61), OffsetRange("t", 2, 0, 1)]
    few = read_options({**AT, "minpartitions": "6"}, streaming=False)
    pieces = cut(ranges, few)
    assert len(pieces) >= 6
    for whole in ranges:
        mine = [each for each in pieces if each.partition == whole.partition]
        assert mine[0].start == whole.start
        assert mine[-1].end == whole.end
        assert all(a.end == b.start for a, b in itertools.pairwise(mine))
    small = read_options({**AT, "maxrecordsperpartition": "10"}, streaming=False)
    assert max(each.end - each.start for each in cut(ranges, small)) <= 10
    assert cut(ranges, read_options(AT, streaming=False)) == ranges


def test_a_rate_limit_starves_nobody() -> None:
    start = {("t", 0): 0, ("t", 1): 0, ("t", 2): 5}
    end = {("t", 0): 1000, ("t", 1): 1, ("t", 2): 5}
    limited = rate_limited(100, start, end)
    assert limited == {("t", 0): 99, ("t", 1): 1, ("t", 2): 5}
    assert rate_limited(5000, start, end) == end
    assert from_json(to_json(limited)) == limited


class There:
    """A cluster with these bounds, and one record for each second."""

    def __init__(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        self.known = dict(bounds)

    def partitions(self, topics: Iterable[str] | None) -> list[TopicPartition]:
        wanted = None if topics is None else set(topics)
        return sorted(each for each in self.known if wanted is None or each[0] in wanted)

    def bounds(
        self,
        partitions: Iterable[TopicPartition],
        isolation: Isolation,
        known_ends: Mapping[TopicPartition, int] = NONE_KNOWN,
    ) -> dict[TopicPartition, Bounds]:
        return {each: self.known[each] for each in partitions if each in self.known}

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        return {
            each: offset if (offset := timestamp // 1000) < self.known[each].end_offset else -1
            for each, timestamp in timestamps.items()
        }

    def read(self, *_: Any) -> Iterator[Any]:
        raise NotImplementedError

    def close(self) -> None:
        pass


THERE = There({("t", 0): Bounds(5, 10), ("t", 1): Bounds(0, 4), ("u", 0): Bounds(0, 1)})


def options(streaming: bool = False, **given: str) -> ReadOptions:
    return read_options({**AT, **given}, streaming=streaming)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"subscribe": "t"}, [("t", 0), ("t", 1)]),
        ({"subscribepattern": "^[tu]$"}, [("t", 0), ("t", 1), ("u", 0)]),
        ({"subscribepattern": "x"}, []),
        ({"assign": '{"t": [1, 7]}'}, [("t", 1)]),
    ],
)
def test_partitions_are_those_that_are_there(
    given: dict[str, str], found: list[TopicPartition]
) -> None:
    asked = {name: text for name, text in AT.items() if not name.startswith("subscribe")}
    assert subscribed(THERE, read_options({**asked, **given}, streaming=False)) == found


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ({"startingoffsets": "earliest"}, {("t", 0): 5, ("t", 1): 0}),
        ({"startingoffsets": '{"t": {"0": 7, "1": -2}}'}, {("t", 0): 7, ("t", 1): 0}),
        ({"startingtimestamp": "3000"}, {("t", 0): 3, ("t", 1): 3}),
    ],
)
def test_a_start_is_resolved(given: dict[str, str], start: dict[TopicPartition, int]) -> None:
    read = options(**given)
    bounds = THERE.bounds(subscribed(THERE, read), read.isolation)
    assert resolve(THERE, read, read.start, bounds, is_start=True) == start


def test_a_time_behind_the_last_record_is_told_or_is_the_end() -> None:
    late = {"startingtimestamp": "8000"}
    bounds = THERE.bounds([("t", 0), ("t", 1)], Isolation.READ_UNCOMMITTED)
    read = options(**late)
    with pytest.raises(SparkSourceError, match=r"no record of t-1 is as late as 8000 ms"):
        resolve(THERE, read, read.start, bounds, is_start=True)
    read = options(**late, startingoffsetsbytimestampstrategy="latest")
    found = resolve(THERE, read, read.start, bounds, is_start=True)
    assert found == {("t", 0): 8, ("t", 1): 4}


def test_offsets_name_exactly_the_partitions_that_are_read() -> None:
    with pytest.raises(SparkSourceError, match=r"t-0, t-1; given: t-0$"):
        batch_ranges(THERE, options(startingoffsets='{"t": {"0": 7}}'))


def test_a_batch_reads_what_is_there() -> None:
    assert batch_ranges(THERE, options()) == [
        OffsetRange("t", 0, 5, 10),
        OffsetRange("t", 1, 0, 4),
    ]
    early = {"startingoffsets": '{"t": {"0": 2, "1": 4}}'}
    with pytest.raises(OffsetOutOfRange, match=r"offsets 2 to 10 of t-0 were asked for, 5 to 10"):
        batch_ranges(THERE, options(**early))
    kept = batch_ranges(THERE, options(**early, failondataloss="false"))
    assert kept == [OffsetRange("t", 0, 5, 10)]


LOSS = {"failondataloss": "false"}


@pytest.mark.parametrize(
    ("start", "end", "told", "kept"),
    [
        ({("t", 0): 6, ("t", 1): 1}, {("t", 0): 8}, "partitions t-1 are gone", [(0, 6, 8)]),
        ({("t", 0): 9}, {("t", 0): 7}, "was 9 and is 7: was the topic made anew", []),
        ({}, {("t", 0): 8}, "new partition t-0 begins with offset 5, not 0", [(0, 5, 8)]),
        ({("t", 0): 3}, {("t", 0): 8}, "begins with offset 5 now", [(0, 5, 8)]),
    ],
)
def test_a_micro_batch_that_lost_records_says_so_or_goes_on(
    start: Any, end: Any, told: str, kept: list[tuple[int, int, int]]
) -> None:
    with pytest.raises(OffsetOutOfRange, match=told):
        stream_ranges(THERE, options(streaming=True), start, end)
    found = stream_ranges(THERE, options(streaming=True, **LOSS), start, end)
    assert [(each.partition, each.start, each.end) for each in found] == kept


def test_a_micro_batch_goes_on_and_takes_new_partitions_from_their_start() -> None:
    found = stream_ranges(THERE, options(streaming=True), {("t", 0): 6}, {("t", 0): 6, ("t", 1): 3})
    assert found == [OffsetRange("t", 1, 0, 3)]
