"""ListOffsets and OffsetForLeaderEpoch: where things are."""

from __future__ import annotations

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
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
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

START = 1_600_000_000_000
NEWEST = 11


def list_offsets(
    *timestamps: int, partition: int = 0, topic: str = "words", **fields: int
) -> ListOffsetsRequest:
    epoch = fields.pop("current_leader_epoch", -1)
    return ListOffsetsRequest(
        **({"replica_id": -1} | fields),
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
                    )
                ],
            )
            for timestamp in timestamps
        ],
    )


async def found(client, timestamp: int, version: int = NEWEST, **fields: int) -> tuple:
    response = await client.ask(list_offsets(timestamp, **fields), version)
    (answer,) = response.topics[0].partitions
    return answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch


@pytest.fixture
async def topic(broker: test_broker, client) -> str:
    """Partition 0 has offsets 0-5 with timestamps 0, 10, 20 s and then 50, 30, 40 s; 1 is empty."""
    broker.create_topic("words", partitions=2)
    for seconds in ((0, 10, 20), (50, 30, 40)):
        records = build_batch([Record(timestamp=START + 1000 * s, value=b"v") for s in seconds])
        data = [PartitionProduceData(index=0, records=records)]
        await client.ask(
            ProduceRequest(
                acks=1,
                timeout_ms=1,
                topic_data=[TopicProduceData(name="words", partition_data=data)],
            ),
            12,
        )
    return "words"


@pytest.mark.parametrize("version", range(1, 12))
async def test_latest_and_earliest(client, topic: str, version: int) -> None:
    epoch = 0 if version >= 4 else -1
    assert await found(client, -1, version) == (0, 6, -1, epoch)
    assert await found(client, -2, version) == (0, 0, -1, epoch)


@pytest.mark.parametrize(
    ("seconds", "offset", "at"),
    [(-5, 0, 0), (0, 0, 0), (5, 1, 10), (20, 2, 20), (21, 3, 50), (35, 3, 50), (50, 3, 50)],
)
async def test_the_first_record_at_or_after_a_time(
    client, topic: str, seconds: int, offset: int, at: int
) -> None:
    expected = (0, offset, START + 1000 * at, 0)
    assert await found(client, START + 1000 * seconds) == expected


async def test_nothing_so_late(client, topic: str) -> None:
    assert await found(client, START + 50_001) == (0, -1, -1, -1)
    assert await found(client, START, partition=1) == (0, -1, -1, -1)


async def test_the_largest_timestamp(client, topic: str) -> None:
    assert await found(client, -3) == (0, 3, START + 50_000, 0)
    assert await found(client, -3, partition=1) == (0, -1, -1, -1)


async def test_what_tiered_storage_would_have(client, topic: str) -> None:
    assert await found(client, -2, partition=1) == (0, 0, -1, 0)
    assert await found(client, -4) == (0, 0, -1, 0)
    assert await found(client, -5) == (0, -1, -1, -1)
    assert await found(client, -6) == (0, -1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12), (-(2**63), 12)]
)
async def test_special_timestamps_have_a_first_version(
    client, topic: str, timestamp: int, since: int
) -> None:
    for version in range(1, 12):
        error, *_ = await found(client, timestamp, version)
        assert error == (ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION)


async def test_a_partition_named_twice(client, topic: str) -> None:
    response = await client.ask(list_offsets(-1, -2))
    ((answer,),) = [topic.partitions for topic in response.topics]
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_errors(client, topic: str) -> None:
    async def error(**fields: int) -> int:
        return (await found(client, -1, **fields))[0]

    assert await error(topic="nowhere") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await error(partition=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await error(current_leader_epoch=0) == ErrorCode.NONE
    assert await error(current_leader_epoch=7) == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_where_an_epoch_ended(client, topic: str, version: int) -> None:
    async def end(epoch: int, name: str = "words", current: int = -1) -> tuple[int, int, int]:
        asked = OffsetForLeaderPartition(
            partition=0, leader_epoch=epoch, current_leader_epoch=current
        )
        topics = [OffsetForLeaderTopic(topic=name, partitions=[asked])]
        response = await client.ask(OffsetForLeaderEpochRequest(topics=topics), version)
        (answer,) = response.topics[0].partitions
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert await end(0) == (0, 0, 6)
    assert await end(1) == (0, -1, -1)
    assert await end(-1) == (0, -1, -1)
    assert await end(-2) == (0, -2, 0)
    assert await end(0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert await end(0, name="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
