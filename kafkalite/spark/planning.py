"""The offsets to read, and the number of tasks: the rules of Spark's own Kafka source.

Source: Spark's KafkaOffsetReaderAdmin, KafkaMicroBatchStream, KafkaOffsetRangeCalculator.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkalite.spark.client import TopicPartition
from kafkalite.spark.data_directory import Bounds
from kafkalite.spark.errors import OffsetOutOfRange, SparkSourceError
from kafkalite.spark.options import Limit, ReadOptions, Where
from kafkalite.spark.record_readers import Access
from kafkalite.wire.api_keys import EARLIEST, LATEST

logger = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]

_ON_DATA_LOSS = "set failOnDataLoss to false to go on without them"


class OffsetRange(NamedTuple):
    """The range of one task: offsets from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


def subscribed(access: Access, options: ReadOptions) -> list[TopicPartition]:
    """The partitions there are, of those that were asked for. Raises UnknownTopic."""
    if options.assigned is not None:
        there = set(access.partitions({topic for topic, _ in options.assigned}))
        return [each for each in options.assigned if each in there]
    if options.pattern is not None:
        pattern = re.compile(options.pattern)
        topics = {topic for topic, _ in access.partitions(None) if pattern.search(topic)}
        return access.partitions(topics) if topics else []
    return access.partitions(options.topics)


def resolve(
    access: Access,
    options: ReadOptions,
    limit: Limit,
    bounds: Mapping[TopicPartition, Bounds],
    *,
    is_start: bool,
) -> Offsets:
    """The offset that each partition begins or ends with. Raises SparkSourceError."""
    if limit.where is Where.EARLIEST:
        return {each: found.start_offset for each, found in bounds.items()}
    if limit.where is Where.LATEST:
        return {each: found.end_offset for each, found in bounds.items()}
    name = "starting" if is_start else "ending"
    if limit.where is Where.TIMESTAMP:
        return _by_timestamp(
            access, options, dict.fromkeys(bounds, limit.timestamp), bounds, is_start
        )
    given = limit.each or {}
    if set(given) != set(bounds):
        raise SparkSourceError(
            f"{name} offsets must name exactly the partitions that are read: "
            f"{_named(bounds)}; given: {_named(given)}"
        )
    if limit.where is Where.TIMESTAMPS:
        return _by_timestamp(access, options, given, bounds, is_start)
    special = {
        each: {EARLIEST: bounds[each].start_offset, LATEST: bounds[each].end_offset}
        for each in given
    }
    return {each: special[each].get(offset, offset) for each, offset in given.items()}


def _by_timestamp(
    access: Access,
    options: ReadOptions,
    timestamps: Mapping[TopicPartition, int],
    bounds: Mapping[TopicPartition, Bounds],
    is_start: bool,
) -> Offsets:
    found = access.offsets_for_times(timestamps)
    for each, offset in found.items():
        if offset < 0:
            if is_start and not options.latest_if_no_match:
                raise SparkSourceError(
                    f"no record of {_named([each])} is as late as {timestamps[each]} ms: set "
                    "startingOffsetsByTimestampStrategy to latest to begin at the end"
                )
            found[each] = bounds[each].end_offset
    return found


def batch_ranges(access: Access, options: ReadOptions) -> list[OffsetRange]:
    """The ranges of a batch read, cut into tasks. Raises SparkSourceError."""
    bounds = access.bounds(subscribed(access, options), options.isolation)
    starts = resolve(access, options, options.start, bounds, is_start=True)
    ends = resolve(access, options, options.end, bounds, is_start=False)
    ranges: list[OffsetRange] = []
    for each, start in starts.items():
        end = ends[each]
        kept_start, kept_end = (
            max(start, bounds[each].start_offset),
            min(end, bounds[each].end_offset),
        )
        if start < kept_start or end > kept_end:
            data_loss(
                options,
                f"offsets {start} to {end} of {_named([each])} were asked for, "
                f"{bounds[each].start_offset} to {bounds[each].end_offset} are there",
            )
        if kept_start < kept_end:
            ranges.append(OffsetRange(*each, kept_start, kept_end))
    return cut(ranges, options)


def stream_ranges(
    access: Access, options: ReadOptions, start: Offsets, end: Offsets
) -> list[OffsetRange]:
    """The ranges of a micro-batch, from a checkpointed `start` on. Raises OffsetOutOfRange."""
    gone = set(start) - set(end)
    if gone:
        data_loss(options, f"partitions {_named(gone)} are gone")
    new = set(end) - set(start)
    starts = dict(start)
    if new:
        for each, found in access.bounds(new, options.isolation).items():
            if found.start_offset > 0:
                data_loss(
                    options,
                    f"new partition {_named([each])} begins with offset {found.start_offset}, "
                    "not 0",
                )
            starts[each] = found.start_offset
    ranges: list[OffsetRange] = []
    for each, until in end.items():
        begin = starts.get(each, until)
        if until < begin:
            data_loss(
                options,
                f"the end of {_named([each])} was {begin} and is {until}: was the topic made anew?",
            )
        elif until > begin:
            ranges.append(OffsetRange(*each, begin, until))
    return cut(_still_there(access, options, ranges), options)


def _still_there(
    access: Access, options: ReadOptions, ranges: list[OffsetRange]
) -> list[OffsetRange]:
    """Without what was deleted since the last micro-batch: files keep it longer than the log has
    it."""
    bounds = access.bounds([(each.topic, each.partition) for each in ranges], options.isolation)
    result: list[OffsetRange] = []
    for each in ranges:
        found = bounds.get((each.topic, each.partition))
        if found is not None and found.start_offset > each.start:
            data_loss(
                options,
                f"{each.topic}-{each.partition} begins with offset {found.start_offset} now, "
                f"the query goes on from {each.start}",
            )
            each = each._replace(start=min(found.start_offset, each.end))
        if each.start < each.end:
            result.append(each)
    return result


def data_loss(options: ReadOptions, what: str) -> None:
    """Raises OffsetOutOfRange, or warns if the query may go on."""
    if options.fail_on_data_loss:
        raise OffsetOutOfRange(f"{what}; {_ON_DATA_LOSS}")
    logger.warning("%s; the query goes on (failOnDataLoss is false)", what)


def cut(ranges: list[OffsetRange], options: ReadOptions) -> list[OffsetRange]:
    """A task for each range; more for large ones if minPartitions or maxRecordsPerPartition ask for
    it."""
    total = sum(each.end - each.start for each in ranges)
    result: list[OffsetRange] = []
    for each in ranges:
        size = each.end - each.start
        pieces = 1
        if options.min_partitions is not None and options.min_partitions > len(ranges):
            pieces = -(-size * options.min_partitions // total)
        if options.max_records_per_partition is not None:
            pieces = max(pieces, -(-size // options.max_records_per_partition))
        pieces = min(pieces, size)
        edges = [each.start + size * i // pieces for i in range(pieces + 1)]
        result += [each._replace(start=start, end=end) for start, end in itertools.pairwise(edges)]
    return result


def rate_limited(limit: int, start: Offsets, end: Offsets) -> Offsets:
    """At most so many offsets, shared among the partitions by what each has; none gets nothing."""
    sizes = {each: end[each] - start[each] for each in end if end[each] > start[each]}
    total = sum(sizes.values())
    if total <= limit:
        return dict(end)
    limited = dict(end)
    for each, size in sizes.items():
        limited[each] = min(end[each], start[each] + max(1, size * limit // total))
    return limited


def to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Offsets in the form of Spark's own Kafka source: `{"topic": {"0": 23}}`."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


def _named(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(partitions)) or "none"
