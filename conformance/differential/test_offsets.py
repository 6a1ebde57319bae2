"""ListOffsets, OffsetForLeaderEpoch."""

from itertools import product
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.test_produce import batch, producing
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalite.wire.record_batch import Record, build_batch

VERSIONS = range(1, 12)


def listing(topic: str, *partitions: ListOffsetsPartition, **options: Any) -> ListOffsetsRequest:
    asked = ListOffsetsTopic(name=topic, partitions=list(partitions))
    return ListOffsetsRequest(**{"replica_id": -1, **options}, topics=[asked], timeout_ms=1000)


def when(timestamp: int, partition: int = 0, **options: Any) -> ListOffsetsPartition:
    return ListOffsetsPartition(partition_index=partition, timestamp=timestamp, **options)


def fill(pair: Pair, topic: str) -> None:
    """Times that go up, down and stand still, inside batches and from one to the next."""
    for timestamps in ((1000, 1500, 1200), (3000, 2000), (3000, 3000), (2500,)):
        records = build_batch([Record(timestamp=t, value=b"v") for t in timestamps])
        pair.ask(ApiKey.PRODUCE, 12, producing(topic, 12, records))


@pytest.mark.parametrize("version", VERSIONS)
def test_times_and_their_special_names(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    special = range(0, -9, -1)
    for timestamp in special:  # while it is empty
        pair.ask(ApiKey.LIST_OFFSETS, version, listing(topic, when(timestamp)))
    fill(pair, topic)
    for timestamp in (*special, 1, 1000, 1100, 1200, 1201, 1500, 1501, 2400, 2501, 3000, 3001):
        for isolation_level in (0, 1):
            request = listing(topic, when(timestamp), isolation_level=isolation_level)
            pair.ask(ApiKey.LIST_OFFSETS, version, request)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replica_id", [-1, -2, -3, 0, 1, 5])
def test_only_consumers_are_kept_from_what_is_open(
    pair: Pair, topic: str, version: int, replica_id: int
) -> None:
    pair.create_topic(topic, 2)
    producer = Transactions(pair, topic)
    producer.init()
    producer.produce(12)
    for timestamp, level in product((-1, -2, -3, -4, 0), (0, 1)):
        request = listing(topic, when(timestamp), replica_id=replica_id, isolation_level=level)
        pair.ask(ApiKey.LIST_OFFSETS, version, request)


def test_records_without_a_time(pair: Pair, topic: str) -> None:
    pair.create_topic(topic)
    for timestamps in ((-1, -1), (-1,), (-1, 7), (7,)):
        records = build_batch([Record(timestamp=t, value=b"v") for t in timestamps])
        pair.ask(ApiKey.PRODUCE, 12, producing(topic, 12, records))
        for timestamp in (*range(0, -6, -1), 7, 8):
            pair.ask(ApiKey.LIST_OFFSETS, 11, listing(topic, when(timestamp)))


@pytest.mark.parametrize("offset", [1, 4, 6, 7, 8])
def test_times_of_deleted_records(pair: Pair, topic: str, offset: int) -> None:
    """The largest timestamp may be that of a record before the log start, other times may not."""
    pair.create_topic(topic)
    fill(pair, topic)
    partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    deleted = DeleteRecordsTopic(name=topic, partitions=partitions)
    pair.ask(ApiKey.DELETE_RECORDS, 2, DeleteRecordsRequest(topics=[deleted], timeout_ms=5000))
    for timestamp in (*range(-1, -6, -1), 0, 1000, 2400, 3000):
        pair.ask(ApiKey.LIST_OFFSETS, 11, listing(topic, when(timestamp)))


@pytest.mark.parametrize("offset", [3, 4, 5, 8, 9, 11, 14])
def test_times_of_deleted_segments(pair: Pair, topic: str, offset: int) -> None:
    """A time is looked for in one segment, whether it is deleted or not."""
    pair.create_topic(topic, segment_ms="1000", retention_ms="-1")
    for timestamp in (1000, 1500, 3000, 2999, 1100, 6000, 1000):
        records = build_batch([Record(timestamp=timestamp + i, value=b"v") for i in (0, 1)])
        pair.ask(ApiKey.PRODUCE, 12, producing(topic, 12, records))
    partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    deleted = DeleteRecordsTopic(name=topic, partitions=partitions)
    pair.ask(ApiKey.DELETE_RECORDS, 2, DeleteRecordsRequest(topics=[deleted], timeout_ms=5000))
    for timestamp in (*range(-1, -6, -1), 0, 1001, 1100, 1101, 1501, 2500, 3001, 3500, 6001, 6002):
        pair.ask(ApiKey.LIST_OFFSETS, 11, listing(topic, when(timestamp)))


@pytest.mark.parametrize("version", VERSIONS)
def test_mistakes(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    for request in (
        listing(topic, when(-1, 1), when(-1, -1)),
        listing(topic, when(-1), when(-1)),
        listing(topic, when(-1), when(-2)),
        listing(f"{topic}-unknown", when(-1)),
        listing("", when(-1)),
        listing(topic, when(-1, current_leader_epoch=0)),
        listing(topic, when(-1, current_leader_epoch=7)),
        listing(topic, when(-1), replica_id=-2),
        listing(topic, when(5), replica_id=-2),
        listing(topic, when(-1), replica_id=5),
        listing(topic, when(-1), isolation_level=1),
        ListOffsetsRequest(replica_id=-1, topics=[]),
        listing(topic),
    ):
        pair.ask(ApiKey.LIST_OFFSETS, version, request)


@pytest.mark.parametrize("version", range(2, 5))
def test_epochs(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)

    def ask(partition: int, epoch: int, current: int = -1, name: str = topic) -> None:
        asked = OffsetForLeaderPartition(
            partition=partition, current_leader_epoch=current, leader_epoch=epoch
        )
        request = OffsetForLeaderEpochRequest(
            replica_id=-1 if version < 3 else -2,
            topics=[OffsetForLeaderTopic(topic=name, partitions=[asked])],
        )
        pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, request)

    for _ in range(2):  # while it is empty, and with records
        for epoch in (-2, -1, 0, 1, 5):
            ask(0, epoch)
        for current in (0, 1, 5):
            ask(0, 0, current)
        pair.ask(ApiKey.PRODUCE, 12, producing(topic, 12, batch(4)))
    ask(1, 0)
    ask(-1, 0)
    ask(0, 0, name=f"{topic}-unknown")
