"""ShareFetch over the wire: sessions, locks, and acknowledgements that come with a fetch."""

from __future__ import annotations

import pytest
import trio

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.share_fetch import ForgottenTopic
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.apis.share_member import (
    ACCEPT,
    RELEASE,
    RENEW,
    Member,
    configure,
    initialize,
    produce,
)
from tests.kafkalite.long_look_up import make_long


@pytest.mark.parametrize("version", [1, 2])
async def test_fetched_accepted_and_gone(client, member, clients, queue, version: int) -> None:
    await produce(client, b"a", b"b", b"c")
    assert await member.fetch(version=version) == [b"a", b"b", b"c"]
    assert member.acquired == [(0, 2, 1)]
    assert member.last.acquisition_lock_timeout_ms == 30_000
    assert await member.say((0, 2, ACCEPT), version=version) == 0
    other = Member(await clients.connect(), queue, member_id="other")
    assert await other.fetch() == []


async def test_acknowledged_with_the_next_fetch(client, member) -> None:
    await produce(client, b"a")
    await produce(client, b"b")
    await member.fetch(max_records=1)
    assert member.acquired == [(0, 0, 1)]
    assert await member.fetch((0, 0, ACCEPT)) == [b"b"]
    assert member.codes == (0, 0)


async def test_what_a_fetch_releases_comes_back_when_there_is_nothing_else(client, member) -> None:
    await produce(client, b"a")
    await member.fetch()
    await produce(client, b"b")
    assert await member.fetch((0, 0, RELEASE)) == [b"b"]
    assert await member.fetch() == [b"a"]
    assert member.acquired == [(0, 0, 2)]
    assert await member.fetch((0, 0, RELEASE)) == [b"a"]
    assert member.acquired == [(0, 0, 3)]


async def test_no_more_than_asked_for_in_record_limited_mode(client, member) -> None:
    await produce(client, b"a", b"b", b"c", b"d")
    assert await member.fetch(max_records=3, share_acquire_mode=1) == [b"a", b"b", b"c"]
    assert await member.fetch(max_records=3, share_acquire_mode=1) == [b"d"]


async def test_it_waits_for_records(client, clients, member) -> None:
    await member.fetch()
    other = await clients.connect()
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce, other, b"late")
            assert await member.fetch(wait_ms=10_000) == [b"late"]


async def test_it_waits_for_records_that_come_back(client, clients, queue, member) -> None:
    await produce(client, b"a")
    await member.fetch()
    other = Member(await clients.connect(), queue, member_id="other")
    await other.fetch()

    async def release() -> None:
        await member.say((0, 0, RELEASE))

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(release)
            assert await other.fetch(wait_ms=10_000) == [b"a"]


async def test_a_lost_connection_releases(client, clients, queue) -> None:
    await produce(client, b"a")
    mortal = await clients.connect()
    assert await Member(mortal, queue, member_id="mortal").fetch() == [b"a"]
    heir = Member(client, queue, member_id="heir")
    assert await heir.fetch() == []
    await trio.aclose_forcefully(mortal.stream)
    assert await heir.fetch(wait_ms=5_000) == [b"a"]


async def test_a_fetch_that_ends_the_session_acknowledges(client, member, clients, queue) -> None:
    await produce(client, b"a", b"b")
    await member.fetch()
    await member.fetch((0, 0, ACCEPT), epoch=-1)
    assert member.codes == (0, 0)
    other = Member(await clients.connect(), queue, member_id="other")
    assert await other.fetch() == [b"b"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "x" * 37}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"epoch": -1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"is_renew_ack": True}, ErrorCode.INVALID_REQUEST),
        ({"share_acquire_mode": -1}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"share_acquire_mode": 2}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_what_is_refused(client, member, fields, code) -> None:
    await member.fetch(**fields)
    assert member.last.error_code == code
    assert member.last.responses == []


async def test_session_epochs_count_up(client, member) -> None:
    await member.fetch()
    await member.fetch(epoch=5)
    assert member.last.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert await member.say(epoch=5) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert await member.say(epoch=0) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    await member.fetch((0, 0, ACCEPT), epoch=0)
    assert member.last.error_code == ErrorCode.INVALID_REQUEST
    await member.fetch(epoch=1)
    assert member.last.error_code == 0


async def test_forgotten_partitions_are_not_fetched(client, member, queue) -> None:
    await member.fetch()
    await produce(client, b"a")
    forgotten = [ForgottenTopic(topic_id=queue, partitions=[0])]
    assert await member.fetch(topics=[], forgotten_topics_data=forgotten) == []
    assert await member.fetch() == [b"a"]


async def test_a_renewal_fetches_nothing(client, member) -> None:
    await produce(client, b"a")
    await member.fetch()
    await produce(client, b"b")
    nothing = {"min_bytes": 0, "max_bytes": 0, "max_records": 0, "is_renew_ack": True}
    assert await member.fetch((0, 0, RENEW), **nothing) == []
    assert member.codes == (0, 0)
    assert await member.say((0, 0, RENEW), is_renew_ack=True) == 0
    assert await member.fetch() == [b"b"]


async def test_a_group_begins_at_the_end(client, broker) -> None:
    broker.create_topic("t", 1)
    topic_id = broker.topic_id("t")
    await produce(client, b"old")
    await initialize(client, "queue", topic_id, start_offset=-1)
    member = Member(client, topic_id)
    assert await member.fetch() == []
    await produce(client, b"new")
    assert await member.fetch() == [b"new"]


@pytest.mark.parametrize("reset", ["earliest", "by_duration:P9999D"])
async def test_a_group_begins_where_it_is_told_to(client, broker, reset: str) -> None:
    broker.create_topic("t", 1)
    topic_id = broker.topic_id("t")
    await produce(client, b"old")
    await configure(client, **{"share.auto.offset.reset": reset})
    await initialize(client, "queue", topic_id, start_offset=-1)
    assert await Member(client, topic_id).fetch() == [b"old"]


@pytest.mark.pure
async def test_a_thread_reads_where_its_time_begins(client, broker, monkeypatch) -> None:
    broker.create_topic("t", 1)
    topic_id = broker.topic_id("t")
    await produce(client, b"old")
    await configure(client, **{"share.auto.offset.reset": "by_duration:P9999D"})
    await initialize(client, "queue", topic_id, start_offset=-1)
    done = make_long(monkeypatch)
    assert await Member(client, topic_id).fetch() == [b"old"]
    assert done == ["read in a thread", "looked up"]


async def test_a_partition_without_a_state_is_not_fetched(client, broker) -> None:
    broker.create_topic("t", 1)
    member = Member(client, broker.topic_id("t"))
    assert await member.fetch() == []
    assert member.codes[0] == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_deleted_records_are_skipped(client, member) -> None:
    await produce(client, b"a")
    await produce(client, b"b")
    deletion = DeleteRecordsRequest(
        timeout_ms=1000,
        topics=[
            DeleteRecordsTopic(
                name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)]
            )
        ],
    )
    await client.ask(deletion)
    assert await member.fetch() == []
    assert await member.fetch() == [b"b"]


async def test_a_topic_that_is_gone(client, broker, member) -> None:
    await member.fetch()
    broker.delete_topic("t")
    await member.fetch(topics=[])
    assert member.last.error_code == ErrorCode.UNKNOWN_SERVER_ERROR  # as from Apache Kafka 4.3.1


async def test_sessions_are_limited(connect) -> None:
    async with a_broker(config={"group.share.max.share.sessions": 1}) as running:
        client = await connect(running)
        running.create_topic("t", 1)
        topic_id = running.topic_id("t")
        await initialize(client, "queue", topic_id)
        await Member(client, topic_id).fetch()
        second = Member(await connect(running), topic_id, member_id="second")
        await second.fetch()
        assert second.last.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


async def test_the_feature_can_be_off(client, member) -> None:
    off = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    assert (await client.ask(UpdateFeaturesRequest(feature_updates=[off]))).error_code == 0
    await member.fetch()
    assert member.last.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert await member.say() == ErrorCode.UNSUPPORTED_VERSION
