"""Topics and their records: what is there, more of it, less of it."""

from __future__ import annotations

import base64
import heapq
from collections.abc import Iterator

import trio

from kafkalite.control.answers import Cleaned, Place, RecordView, TopicView, Written
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import milliseconds, seconds
from kafkalite.control.operations.asking import refused
from kafkalite.control.questions import (
    CleanTopics,
    CreateTopic,
    GapInTopic,
    LoseRecords,
    NewRecord,
    Nothing,
    ReadRecords,
    TopicName,
    WriteRecords,
)
from kafkalite.control.views import partition_of, topic_of, topic_view
from kafkalite.log.open_files import FileSlice
from kafkalite.replica.partition import Partition
from kafkalite.replica.record_removal import remove_records
from kafkalite.replica.topics import NewTopic
from kafkalite.requests.purgatory import Watchers
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

# Read of a partition at a time.
_READ_BYTES = 1 << 20
_NO_TIMESTAMP = -1


async def list_topics(cluster: ControlledCluster, request: Nothing) -> list[TopicView]:
    """All topics but the internal ones."""
    topics = cluster.broker.services.topics.all()
    return [topic_view(each) for each in topics if not each.is_internal]


async def show_topic(cluster: ControlledCluster, request: TopicName) -> TopicView:
    """One topic with its partitions."""
    return topic_view(topic_of(cluster.broker, request.topic))


async def create_topic(cluster: ControlledCluster, request: CreateTopic) -> TopicView:
    """Create a topic; every node serves it when this is answered."""
    new = NewTopic(
        request.topic,
        -1 if request.partitions is None else request.partitions,
        -1 if request.replication_factor is None else request.replication_factor,
        configs=request.configs,
    )
    try:
        cluster.broker.services.topics.create(new)
    except KafkaError as error:
        raise refused(error, f"topic {request.topic} is not created") from None
    return topic_view(topic_of(cluster.broker, request.topic))


async def delete_topic(cluster: ControlledCluster, request: TopicName) -> Nothing:
    """Delete a topic with its records."""
    topic = topic_of(cluster.broker, request.topic)
    cluster.broker.services.topics.delete([topic.topic_id])
    return Nothing()


async def lose_records(cluster: ControlledCluster, request: LoseRecords) -> TopicView:
    """Lose the records before an offset (-1: all), as retention loses what is too old."""
    partition = partition_of(cluster.broker, request.topic, request.partition)
    offset = partition.high_watermark if request.to == -1 else request.to
    try:
        partition.log.delete_records_before(offset)
    except KafkaError as error:
        raise refused(error, f"{request.topic}-{request.partition} loses nothing") from None
    partition.log.retain()
    partition.watchers.check_and_complete()
    return topic_view(topic_of(cluster.broker, request.topic))


async def make_gap(cluster: ControlledCluster, request: GapInTopic) -> TopicView:
    """Take the records from one offset to before another out, as compaction does: offsets
    stay.
    """
    partition = partition_of(cluster.broker, request.topic, request.partition)
    try:
        remove_records(partition.log, request.first, request.end)
    except KafkaError as error:
        raise refused(error, f"{request.topic}-{request.partition} gets no gap") from None
    return topic_view(topic_of(cluster.broker, request.topic))


async def clean(cluster: ControlledCluster, request: CleanTopics) -> Cleaned:
    """Apply retention and compaction to all that is written, without waiting for any
    interval.
    """
    logs = cluster.broker.services.logs.manager.logs
    before = sum(log.log_start_offset for log in logs)
    cluster.broker.background.clean_now()
    logs = cluster.broker.services.logs.manager.logs
    return Cleaned(sum(log.log_start_offset for log in logs) - before)


# Records


async def read_records(cluster: ControlledCluster, request: ReadRecords) -> list[RecordView]:
    """Records of a topic, the oldest first; waits until there are `count`, if `wait` is
    given.
    """
    deadline = trio.current_time() + (0.0 if request.wait is None else seconds(request.wait))
    while True:
        topic = cluster.broker.services.topics.get(request.topic)
        found: list[RecordView] = []
        if topic is not None:
            found = _read(cluster, request)
        elif request.wait is None:
            topic_of(cluster.broker, request.topic)
        if len(found) >= request.count or trio.current_time() >= deadline:
            return found[: request.count]
        watched = [] if topic is None else [each.watchers for each in topic.partitions]
        with trio.move_on_at(deadline):
            await _changed(watched)


class _Change:
    def __init__(self) -> None:
        self.event = trio.Event()

    def try_complete(self) -> None:
        self.event.set()


async def _changed(watched: list[Watchers]) -> None:
    """Until one of them has changed, but not for long: the topic may be another one then."""
    change = _Change()
    for each in watched:
        each.add(change)
    try:
        with trio.move_on_after(0.1):
            await change.event.wait()
    finally:
        for each in watched:
            each.discard(change)


def _read(cluster: ControlledCluster, request: ReadRecords) -> list[RecordView]:
    topic = topic_of(cluster.broker, request.topic)
    by_partition: list[list[RecordView]] = []
    for partition in topic.partitions:
        if request.partition not in (None, partition.index):
            continue
        found: list[RecordView] = []
        for record in records_of(partition, request.start, committed_only=request.committed):
            if request.value_contains is None or request.value_contains in (record.value or ""):
                found.append(record)
            if len(found) >= request.count:
                break
        by_partition.append(found)
    # By time across partitions; within one, their order is that of the offsets.
    return list(heapq.merge(*by_partition, key=lambda each: each.timestamp))


def records_of(
    partition: Partition, start: int | None = None, *, committed_only: bool = False
) -> Iterator[RecordView]:
    """The records of a partition from an offset on; without aborted ones if `committed_only`."""
    offset = partition.log.log_start_offset if start is None else start
    offset = max(offset, partition.log.log_start_offset)
    limit = partition.read_limit(committed_only=committed_only)
    aborted: dict[int, list[int]] = {}
    while offset < limit:
        result = partition.read(offset, _READ_BYTES, committed_only=committed_only)
        for each in result.aborted_transactions or ():
            firsts = aborted.setdefault(each.producer_id, [])
            if each.first_offset not in firsts:
                firsts.append(each.first_offset)
        data = _bytes_of(result.records)
        after = offset
        for batch in iterate_batches(data):
            after = batch.next_offset
            firsts = aborted.get(batch.producer_id, [])
            if batch.is_control:
                # The marker of the oldest of the producer's transactions that were aborted.
                if firsts and firsts[0] <= batch.base_offset:
                    del firsts[0]
                continue
            if batch.is_transactional and firsts and firsts[0] <= batch.base_offset:
                continue
            for record in iterate_records(batch):
                if record.offset >= offset:
                    yield _view(partition.index, record)
        if after <= offset:
            return
        offset = after


def _bytes_of(records: FileSlice | bytes) -> bytes:
    if isinstance(records, bytes):
        return records
    with records as slice_:
        return slice_.read()


def _view(partition: int, record: Record) -> RecordView:
    key, key_encoding = _shown(record.key)
    value, value_encoding = _shown(record.value)
    return RecordView(
        partition=partition,
        offset=record.offset,
        timestamp=record.timestamp,
        key=key,
        value=value,
        headers={name: _shown(each)[0] for name, each in record.headers},
        key_encoding=key_encoding,
        value_encoding=value_encoding,
    )


def _shown(data: bytes | None) -> tuple[str | None, str]:
    if data is None:
        return None, "utf-8"
    try:
        return bytes(data).decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


async def write_records(cluster: ControlledCluster, request: WriteRecords) -> Written:
    """Append records, as one batch for each partition."""
    now_ms = cluster.clock.now_ms()
    batches: dict[int, list[Record]] = {}
    for each in request.records:
        batches.setdefault(each.partition, []).extend(_records(each, now_ms))
    places: list[Place] = []
    for index, records in batches.items():
        partition = partition_of(cluster.broker, request.topic, index)
        try:
            info = partition.append(build_batch(records))
        except KafkaError as error:
            raise refused(error, f"{request.topic}-{index} takes no records") from None
        places += [Place(index, info.base_offset + step) for step in range(len(records))]
    return Written(places)


def _records(new: NewRecord, now_ms: int) -> list[Record]:
    timestamp = now_ms
    if isinstance(new.timestamp, str):
        timestamp = now_ms + milliseconds(new.timestamp, field="timestamp")
    elif new.timestamp is not None:
        timestamp = new.timestamp
    record = Record(
        timestamp=timestamp,
        key=_bytes(new.key, new.key_encoding),
        value=_bytes(new.value, new.value_encoding),
        headers=[(name, _bytes(value, "utf-8")) for name, value in new.headers.items()],
    )
    return [record] * new.count


def _bytes(value: str | None, encoding: str) -> bytes | None:
    if value is None:
        return None
    return base64.b64decode(value) if encoding == "base64" else value.encode()
