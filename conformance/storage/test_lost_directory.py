"""A data directory that is not there at a start: who leads what lies in it, and what is said of it,
as by Apache Kafka; and that all of it is there when the directory is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.storage.clients import SECONDS, producer
from conformance.storage.test_log_dirs import disk, move, pair, until_both
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

__all__ = ["pair"]

TOPICS = ("lost", "kept")
METADATA = MetadataRequest(
    topics=[MetadataRequestTopic(name=name) for name in TOPICS], allow_auto_topic_creation=False
)
# The ends, and a time.
TIMES = (-1, -2, 5)


def offsets(timestamp: int) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(
        partition_index=0, current_leader_epoch=-1, timestamp=timestamp
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=0,
        topics=[ListOffsetsTopic(name=name, partitions=[partition]) for name in TOPICS],
    )


def codes(answer: Any) -> list[int]:
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


def both(pair: Pair) -> tuple[Side, Side]:
    return pair.reference, pair.tested


def started_again(pair: Pair, expected: list[int]) -> None:
    """Wait for both: Apache Kafka hears of its leaders a moment later."""
    for side in both(pair):
        side.close()
        side.broker.start()
        side.until(ApiKey.LIST_OFFSETS, 7, offsets(-1), lambda answer: codes(answer) == expected)
        side.until(
            ApiKey.METADATA,
            12,
            METADATA,
            lambda answer: (answer.topics[0].partitions[0].leader_id == -1) == (expected[0] != 0),
        )


def compare(pair: Pair) -> None:
    pair.ask(ApiKey.METADATA, 12, METADATA)
    for timestamp in TIMES:
        pair.ask(ApiKey.LIST_OFFSETS, 7, offsets(timestamp))
    asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    topics = [OffsetForLeaderTopic(topic=name, partitions=[asked]) for name in TOPICS]
    pair.ask(
        ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
    )


def test_a_lost_directory_takes_its_leaders_along(pair: Pair) -> None:
    for number, topic in enumerate(TOPICS, 1):
        move(pair, lambda side, number=number: disk(side, number), topic, 0)
        pair.create_topic(topic)
    until_both(pair, lambda disks: [each[0] for each in disks["disk-1"]] == ["lost"])
    for side in both(pair):
        sender = producer(side.broker.bootstrap)
        for topic in TOPICS:
            for i in range(5):
                sender.produce(topic, value=b"%d" % i, partition=0, timestamp=1_700_000_000_000)
        assert sender.flush(SECONDS) == 0
    compare(pair)
    for side in both(pair):
        side.broker.stop()
        Path(disk(side, 1)).rename(disk(side, 1) + "-gone")
        Path(disk(side, 1)).write_text("not a directory")
    started_again(pair, [ErrorCode.KAFKA_STORAGE_ERROR, 0])
    compare(pair)
    for election_type in (0, 1):
        topics = [TopicPartitions(topic=name, partitions=[0]) for name in TOPICS]
        request = ElectLeadersRequest(
            election_type=election_type, topic_partitions=topics, timeout_ms=5000
        )
        pair.ask(ApiKey.ELECT_LEADERS, 2, request)
    for side in both(pair):
        side.broker.stop()
        Path(disk(side, 1)).unlink()
        Path(disk(side, 1) + "-gone").rename(disk(side, 1))
    started_again(pair, [0, 0])
    compare(pair)
