"""Topics and their records: what is there, more of it, less of it."""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.control.answers import Cleaned, RecordView, TopicView, Written
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import seconds
from kafkalite.control.operations.asking import refused
from kafkalite.control.paging import Page, page_by_name
from kafkalite.control.questions import (
    CreateTopic,
    GapInTopic,
    LoseRecords,
    Nothing,
    ReadRecords,
    TopicName,
    WriteRecords,
)
from kafkalite.control.record_reading import by_time, records_of, view
from kafkalite.control.record_writing import writing
from kafkalite.control.views import partition_of, topic_of, viewing
from kafkalite.replica import record_removal
from kafkalite.replica.partition import Partition
from kafkalite.replica.topics import NewTopic, Topic
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import Steps, in_slices_of_task, mapped, mapped_in_steps
from kafkalite.wire.errors import KafkaError

_READ_IN_A_STEP: Final = 64


async def list_topics(cluster: ControlledCluster, request: Page) -> list[TopicView]:
    """All topics but the internal ones, by their names."""
    topics = [each for each in cluster.broker.services.topics.all() if not each.is_internal]
    chosen = page_by_name(topics, request, lambda topic: topic.name)
    return await in_slices_of_task(mapped_in_steps(viewing, chosen))


async def show_topic(cluster: ControlledCluster, request: TopicName) -> TopicView:
    """One topic with its partitions."""
    return await in_slices_of_task(viewing(topic_of(cluster.broker, request.topic)))


async def create_topic(cluster: ControlledCluster, request: CreateTopic) -> TopicView:
    """Create a topic; every node serves it when this is answered."""
    new = NewTopic(
        request.topic,
        -1 if request.partitions is None else request.partitions,
        -1 if request.replication_factor is None else request.replication_factor,
        configs=request.configs,
    )
    try:
        await in_slices_of_task(cluster.broker.services.topics.creating(new))
    except KafkaError as error:
        raise refused(error, f"topic {request.topic} is not created") from None
    return await in_slices_of_task(viewing(topic_of(cluster.broker, request.topic)))


async def delete_topic(cluster: ControlledCluster, request: TopicName) -> Nothing:
    """Delete a topic with its records."""
    topic = topic_of(cluster.broker, request.topic)
    deleting = cluster.broker.services.topics.deleting([topic.topic_id])
    for error in (await in_slices_of_task(deleting)).values():
        raise refused(error, f"topic {request.topic} is not deleted")
    return Nothing()


async def lose_records(cluster: ControlledCluster, request: LoseRecords) -> TopicView:
    """Lose the records before an offset (-1: all), as retention loses what is too old."""
    partition = partition_of(cluster.broker, request.topic, request.partition)
    try:
        record_removal.lose_records(partition, request.to)
    except KafkaError as error:
        raise refused(error, f"{request.topic}-{request.partition} loses nothing") from None
    return await in_slices_of_task(viewing(topic_of(cluster.broker, request.topic)))


async def make_gap(cluster: ControlledCluster, request: GapInTopic) -> TopicView:
    """Take the records from one offset to before another out, as compaction does: offsets
    stay.
    """
    partition = partition_of(cluster.broker, request.topic, request.partition)
    try:
        record_removal.remove_records(partition.log, request.first, request.end)
    except KafkaError as error:
        raise refused(error, f"{request.topic}-{request.partition} gets no gap") from None
    return await in_slices_of_task(viewing(topic_of(cluster.broker, request.topic)))


async def roll_topic(cluster: ControlledCluster, request: TopicName) -> TopicView:
    """Begin a new segment in each partition that has records in its last one."""
    topic = topic_of(cluster.broker, request.topic)
    await in_slices_of_task(mapped(_roll, list(topic.partitions)))
    return await in_slices_of_task(viewing(topic))


def _roll(partition: Partition) -> None:
    """Raises Problem."""
    try:
        partition.log.check_online()
        partition.log.roll()
    except KafkaError as error:
        raise refused(error, f"{partition.topic}-{partition.index} is not rolled") from None
    except OSError as error:
        failed = partition.log.storage_error(error)
        raise refused(failed, f"{partition.topic}-{partition.index} is not rolled") from None


async def clean(cluster: ControlledCluster, request: Nothing) -> Cleaned:
    """Apply retention and compaction to all that is written, without waiting for any
    interval.
    """
    logs = cluster.broker.services.logs.manager.logs
    starts = await in_slices_of_task(mapped(lambda log: (log, log.log_start_offset), logs))
    await in_slices_of_task(cluster.broker.background.cleaning_now())
    return Cleaned(sum(log.log_start_offset - start for log, start in starts))


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
            found = await in_slices_of_task(_read(topic, request))
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


def _read(topic: Topic, request: ReadRecords) -> Steps[list[RecordView]]:
    by_partition: list[list[RecordView]] = []
    for partition in topic.partitions:
        if request.partition in (None, partition.index):
            by_partition.append((yield from _read_of(partition, request)))
            yield
    return (yield from by_time(by_partition, lambda each: each.timestamp))


def _read_of(partition: Partition, request: ReadRecords) -> Steps[list[RecordView]]:
    found: list[RecordView] = []
    for number, each in enumerate(
        records_of(partition, request.from_, committed_only=request.committed)
    ):
        record = view(partition.index, each)
        if request.value_contains is None or request.value_contains in (record.value or ""):
            found.append(record)
        if len(found) >= request.count:
            break
        if number % _READ_IN_A_STEP == 0:
            yield
    return found


async def write_records(cluster: ControlledCluster, request: WriteRecords) -> Written:
    """Append records, as one batch for each partition."""
    return Written(await in_slices_of_task(writing(cluster, request)))
