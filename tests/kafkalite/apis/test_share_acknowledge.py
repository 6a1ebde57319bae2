"""ShareAcknowledge: what became of records is said, written, and not forgotten."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
import trio

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import share_acknowledge, share_fetch
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.apis.share_member import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    configure,
    initialize,
    produce,
)
from tests.kafkalite.conftest import batch

PARTITIONS = 20
RECORDS = 500


@pytest.mark.parametrize("version", [1, 2])
async def test_it_is_done_and_the_time_is_told(client, member, version: int) -> None:
    await produce(client, b"a")
    await member.fetch(version=version)
    assert await member.say((0, 0, ACCEPT), version=version) == 0
    # From version 2 on the answer says how long records may be kept (KIP-1222).
    assert member.last.acquisition_lock_timeout_ms == (30_000 if version == 2 else 0)
    assert member.last.node_endpoints == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "x" * 37}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "another"}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"epoch": 0}, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        ({"epoch": 9}, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    ],
)
async def test_what_is_refused(client, member, fields, code) -> None:
    await produce(client, b"a")
    await member.fetch()
    assert await member.say((0, 0, ACCEPT), **fields) == code
    assert member.last.responses == []
    assert await member.say((0, 0, ACCEPT)) == 0, "its session goes on"


async def many_acquired(client, broker) -> ShareFetchRequest:
    """A member acquires the records of PARTITIONS partitions by this request."""
    broker.create_topic("many", PARTITIONS)
    topic_id = broker._running.services.topics.get("many").topic_id
    await client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[f"queue:{'A' * 22}:0"]))
    states = [
        PartitionData(partition=index, state_epoch=1, start_offset=0) for index in range(PARTITIONS)
    ]
    topics = [InitializeStateData(topic_id=topic_id, partitions=states)]
    await client.ask(InitializeShareGroupStateRequest(group_id="queue", topics=topics))
    records = batch(*[b"v"] * RECORDS)
    data = [PartitionProduceData(index=index, records=records) for index in range(PARTITIONS)]
    topic_data = [TopicProduceData(name="many", topic_id=topic_id, partition_data=data)]
    await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topic_data))
    asked = [share_fetch.FetchPartition(partition_index=index) for index in range(PARTITIONS)]
    request = ShareFetchRequest(
        group_id="queue",
        member_id="member",
        share_session_epoch=0,
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=2 * PARTITIONS * RECORDS,
        batch_size=RECORDS,
        topics=[share_fetch.FetchTopic(topic_id=topic_id, partitions=asked)],
    )
    answer = await client.ask(request)
    partitions = [each for topic in answer.responses for each in topic.partitions]
    assert sum(len(each.acquired_records) for each in partitions) == PARTITIONS
    return request


def said_one_by_one(messages, partition) -> list:
    return [
        partition(
            partition_index=index,
            acknowledgement_batches=[
                messages.AcknowledgementBatch(
                    first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT]
                )
                for offset in range(RECORDS)
            ],
        )
        for index in range(PARTITIONS)
    ]


async def test_many_records_of_few_partitions_do_not_hold_the_loop(client, broker) -> None:
    """Each is acknowledged on its own: 70 ms of work."""
    request = await many_acquired(client, broker)
    said = said_one_by_one(share_acknowledge, AcknowledgePartition)
    acknowledging = ShareAcknowledgeRequest(
        group_id="queue",
        member_id="member",
        share_session_epoch=1,
        topics=[AcknowledgeTopic(topic_id=request.topics[0].topic_id, partitions=said)],
    )
    (answer,) = (await client.ask(acknowledging)).responses
    assert [each.error_code for each in answer.partitions] == [ErrorCode.NONE] * PARTITIONS


async def test_nor_do_they_with_a_fetch(client, broker) -> None:
    request = await many_acquired(client, broker)
    said = said_one_by_one(share_fetch, share_fetch.FetchPartition)
    topics = [replace(request.topics[0], partitions=said)]
    (answer,) = (await client.ask(replace(request, share_session_epoch=1, topics=topics))).responses
    codes = [each.acknowledge_error_code for each in answer.partitions]
    assert codes == [ErrorCode.NONE] * PARTITIONS


async def test_topics_and_partitions_that_are_not_there(client, member, queue) -> None:
    await member.fetch()
    request = ShareAcknowledgeRequest(
        group_id="queue",
        member_id="member",
        share_session_epoch=1,
        topics=[
            AcknowledgeTopic(queue, [AcknowledgePartition(partition_index=7)]),
            AcknowledgeTopic(UUID(int=9), [AcknowledgePartition(partition_index=0)]),
        ],
    )
    answer = await client.ask(request)
    found = {
        (topic.topic_id, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }
    assert found == {
        (queue, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (UUID(int=9), 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }


async def test_released_records_wake_those_who_wait(client, clients, queue, member) -> None:
    await produce(client, b"a")
    await member.fetch()
    other = Member(await clients.connect(), queue, member_id="other")
    await other.fetch()
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(member.say, (0, 0, RELEASE))
            assert await other.fetch(wait_ms=10_000) == [b"a"]


async def test_without_the_feature_there_are_no_share_groups(client, member) -> None:
    off = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    assert (await client.ask(UpdateFeaturesRequest(feature_updates=[off]))).error_code == 0
    assert await member.say() == ErrorCode.UNSUPPORTED_VERSION


async def test_released_is_delivered_again_and_rejected_is_not(client, member) -> None:
    await produce(client, b"a", b"b")
    await member.fetch()
    assert await member.say((0, 0, RELEASE), (1, 1, REJECT)) == 0
    assert await member.fetch() == [b"a"]
    assert member.acquired == [(0, 0, 2)]


async def test_a_session_that_ends_releases(client, member, clients, queue) -> None:
    await produce(client, b"a", b"b")
    await member.fetch()
    assert await member.say((0, 0, ACCEPT), epoch=-1) == 0
    other = Member(await clients.connect(), queue, member_id="other")
    assert await other.fetch() == [b"b"]
    assert await member.say(epoch=-1) == ErrorCode.SHARE_SESSION_NOT_FOUND


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ((1, 0, ACCEPT), ErrorCode.INVALID_REQUEST),
        ((0, 0, 9), ErrorCode.INVALID_REQUEST),
        ((0, 0, RENEW), ErrorCode.INVALID_REQUEST),
        ((0, 7, ACCEPT), ErrorCode.INVALID_REQUEST),
        ((90, 95, ACCEPT), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_acknowledgements_that_make_no_sense(client, member, said, code) -> None:
    await produce(client, b"a", b"b")
    await member.fetch()
    assert await member.say(said) == code
    assert await member.say((0, 1, ACCEPT)) == 0


async def test_only_what_is_ones_own_can_be_acknowledged(client, member, clients, queue) -> None:
    await produce(client, b"a")
    await member.fetch()
    other = Member(await clients.connect(), queue, member_id="other")
    await other.fetch()
    assert await other.say((0, 0, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert await member.say((0, 0, ACCEPT)) == 0
    assert await member.say((0, 0, ACCEPT)) == 0, "it is behind the start offset"


async def test_a_batch_around_the_start_when_all_is_done(client, member) -> None:
    """Apache Kafka runs into an error of its own there."""
    await produce(client, b"a")
    await member.fetch()
    assert await member.say((0, 0, ACCEPT)) == 0
    assert await member.say((0, 3, ACCEPT)) == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_renewals_can_be_forbidden(client, member) -> None:
    await configure(client, **{"share.renew.acknowledge.enable": "false"})
    await produce(client, b"a")
    await member.fetch()
    code = await member.say((0, 0, RENEW), is_renew_ack=True)
    assert code == ErrorCode.INVALID_RECORD_STATE


async def test_a_poison_record_is_given_up(client, member) -> None:
    await configure(client, **{"share.delivery.count.limit": "2"})
    await produce(client, b"poison")
    for _ in range(2):
        assert await member.fetch() == [b"poison"]
        await member.say((0, 0, RELEASE))
    assert await member.fetch() == []
    await produce(client, b"good")
    assert await member.fetch() == [b"good"]


async def test_after_a_crash_accepted_is_gone_and_acquired_is_back(tmp_path, connect) -> None:
    config = {"log.dirs": str(tmp_path)}
    async with a_broker(config=config) as running:
        client = await connect(running)
        running.create_topic("t", 1)
        topic_id = running.topic_id("t")
        await initialize(client, "queue", topic_id)
        await produce(client, b"a", b"b", b"c", b"d")
        member = Member(client, topic_id)
        await member.fetch()
        await member.say((1, 1, ACCEPT), (2, 2, REJECT))
    async with a_broker(config=config) as running:
        member = Member(await connect(running), topic_id)
        assert await member.fetch() == [b"a", b"d"]
        await member.say((0, 0, ACCEPT), (3, 3, ACCEPT))
        await produce(member.client, b"e")
        assert await member.fetch() == [b"e"]
