"""ListOffsets: the offset of a timestamp, and Kafka's special timestamps."""

from __future__ import annotations

import pytest

from kafkalite.apis import list_offsets as list_offsets_api
from kafkalite.replica.partition import Partition
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import AT_ONCE
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from tests.freed_in_steps import most_freed
from tests.kafkalite.apis.conftest import START

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


@pytest.mark.parametrize("version", range(1, 12))
async def test_latest_and_earliest(client, timed_topic: str, version: int) -> None:
    epoch = 0 if version >= 4 else -1
    assert await found(client, -1, version) == (0, 6, -1, epoch)
    assert await found(client, -2, version) == (0, 0, -1, epoch)


@pytest.mark.parametrize(
    ("seconds", "offset", "at"),
    [(-5, 0, 0), (0, 0, 0), (5, 1, 10), (20, 2, 20), (21, 3, 50), (35, 3, 50), (50, 3, 50)],
)
async def test_the_first_record_at_or_after_a_time(
    client, timed_topic: str, seconds: int, offset: int, at: int
) -> None:
    expected = (0, offset, START + 1000 * at, 0)
    assert await found(client, START + 1000 * seconds) == expected


async def test_nothing_so_late(client, timed_topic: str) -> None:
    assert await found(client, START + 50_001) == (0, -1, -1, -1)
    assert await found(client, START, partition=1) == (0, -1, -1, -1)


async def test_the_largest_timestamp(client, timed_topic: str) -> None:
    assert await found(client, -3) == (0, 3, START + 50_000, 0)
    assert await found(client, -3, partition=1) == (0, -1, -1, -1)


async def test_the_leader_epoch_is_that_of_the_batch(
    client, timed_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epochs of records before the log start are forgotten."""
    expected = [await found(client, timestamp) for timestamp in (-3, START)]
    monkeypatch.setattr(Partition, "epoch_of", lambda self, offset: -1)
    assert [await found(client, timestamp) for timestamp in (-3, START)] == expected
    assert {epoch for *_, epoch in expected} == {0}


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
async def test_a_time_in_a_batch_of_very_many_records_holds_nobody(
    client, broker: test_broker, codec: Compression
) -> None:
    """`loop_is_not_held` measures; a search through all of them took 300 ms."""
    count = 60_000
    broker.create_topic("words", configs={"max.message.bytes": "10000000"})
    records = [Record(timestamp=START + each) for each in range(count)]
    data = build_batch(records, compression=codec)
    await client.ask(
        ProduceRequest(
            acks=1,
            timeout_ms=1,
            topic_data=[
                TopicProduceData(
                    name="words", partition_data=[PartitionProduceData(index=0, records=data)]
                )
            ],
        ),
        12,
    )
    assert await found(client, START + count - 10) == (0, count - 10, START + count - 10, 0)
    assert await found(client, START + count) == (0, -1, -1, -1)
    assert await found(client, -3) == (0, count - 1, START + count - 1, 0)


async def test_what_tiered_storage_would_have(client, timed_topic: str) -> None:
    assert await found(client, -2, partition=1) == (0, 0, -1, 0)
    assert await found(client, -4) == (0, 0, -1, 0)
    assert await found(client, -5) == (0, -1, -1, -1)
    assert await found(client, -6) == (0, -1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12), (-(2**63), 12)]
)
async def test_special_timestamps_have_a_first_version(
    client, timed_topic: str, timestamp: int, since: int
) -> None:
    for version in range(1, 12):
        error, *_ = await found(client, timestamp, version)
        assert error == (ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION)


async def test_a_partition_named_twice(client, timed_topic: str) -> None:
    response = await client.ask(list_offsets(-1, -2))
    ((answer,),) = [topic.partitions for topic in response.topics]
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_errors(client, timed_topic: str) -> None:
    async def error(**fields: int) -> int:
        return (await found(client, -1, **fields))[0]

    assert await error(topic="nowhere") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await error(partition=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await error(current_leader_epoch=0) == ErrorCode.NONE
    assert await error(current_leader_epoch=7) == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_there_is_no_leader_epoch_below_none(client, timed_topic: str) -> None:
    assert await found(client, -1, current_leader_epoch=-1) == (0, 6, -1, 0)
    refused = (ErrorCode.FENCED_LEADER_EPOCH, -1, -1, -1)
    assert await found(client, -1, current_leader_epoch=-2) == refused


@pytest.mark.parametrize("level", [-1, 2, 127])
async def test_there_is_no_such_isolation_level(client, timed_topic: str, level: int) -> None:
    refused = (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)
    assert await found(client, -1, isolation_level=level) == refused


@pytest.mark.pure
@pytest.mark.parametrize(("timestamp", "is_at_once"), [(-1, True), (-2, True), (5, False)])
async def test_many_ends_are_told_at_once_and_many_times_are_not(
    client,
    broker: test_broker,
    monkeypatch: pytest.MonkeyPatch,
    timestamp: int,
    is_at_once: bool,
) -> None:
    """An end is at hand. A time is searched for, which may take long for each partition."""
    broker.create_topic("wide", partitions=300)
    taken: list[str] = []
    handle = list_offsets_api._handle_off_loop
    monkeypatch.setattr(
        list_offsets_api, "_handle_off_loop", lambda *given: taken.append("") or handle(*given)
    )
    request = list_offsets(timestamp, topic="wide")
    request.topics[0].partitions = [
        ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in range(300)
    ]
    response = await client.ask(request, NEWEST)
    assert [each.partition_index for each in response.topics[0].partitions] == [*range(300)]
    assert not any(each.error_code for each in response.topics[0].partitions)
    assert bool(taken) is not is_at_once


def test_what_very_many_topics_leave_is_freed_little_by_little() -> None:
    found: list_offsets_api.Answers = {
        f"t{number}": {0: (0, 0, -1, number, 0)} for number in range(4000)
    }
    assert most_freed(list_offsets_api._taken(found)) < 2500
    assert not found


@pytest.mark.pure
async def test_long_names_hold_nobody(client, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are long enough for a name's look-up to take as long as those of ten partitions."""
    turns = 0
    next_element = list_offsets_api._next

    async def counted(context: RequestContext, count: int) -> int:
        nonlocal turns
        turns += (count + 1) % AT_ONCE == 0
        return await next_element(context, count)

    monkeypatch.setattr(list_offsets_api, "_next", counted)
    names = [f"{number}{'x' * 4000}" for number in range(2 * AT_ONCE)]
    response = await client.ask(
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name) for name in names])
    )
    assert response.topics == []
    assert turns == 2
