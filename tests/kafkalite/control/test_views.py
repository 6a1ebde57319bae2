"""A cluster as plain values: topics, groups of every kind with their lag, transactions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.answers import CommittedView
from kafkalite.control.problems import Problem
from kafkalite.control.views import (
    committed_by,
    group_of,
    partition_of,
    topic_of,
    transaction_of,
    transaction_view,
    viewing,
    viewing_group,
)
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.message_codec import build_body
from kafkalite.wire.message_codec import join as join_chunks
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.kafkalite.group_requests import commit, join, with_words
from tests.kafkalite.transactional import TOPIC, Transactional

# Internal topics of few partitions are made faster.
BROKER_CONFIGS = {"share.coordinator.state.topic.num.partitions": 3}
ASSIGNMENT = join_chunks(
    build_body(
        ConsumerProtocolAssignment(
            assigned_partitions=[TopicPartition(topic="words", partitions=[2, 0])]
        ),
        0,
    )
)


async def test_what_is_not_there_is_a_problem(broker: test_broker) -> None:
    running = broker._running
    broker.create_topic("t", partitions=2)
    assert partition_of(running, "t", 1) is topic_of(running, "t").partitions[1]
    for look, told in (
        (lambda: topic_of(running, "x"), "no topic 'x'"),
        (lambda: partition_of(running, "t", 2), "no partition 't-2'"),
        (lambda: partition_of(running, "t", -1), "no partition 't--1'"),
        (lambda: group_of(running, "g"), "no group 'g'"),
        (lambda: transaction_of(running, "x"), "no transaction 'x'"),
    ):
        with pytest.raises(Problem, match=told):
            look()


async def test_a_topic_shows_its_partitions(three: test_broker) -> None:
    three.create_topic("t", partitions=2, replication_factor=2, configs={"retention.ms": 9_000_000})
    await three.asynchronous.produce("t", "v", partition=1, count=3)
    await three.asynchronous.lose("t", 1, 2)
    topic = at_once(viewing(topic_of(three._running, "t")))
    assert (topic.internal, topic.configs) == (False, {"retention.ms": "9000000"})
    assert topic.topic_id == three.topic_id("t")
    empty, filled = topic.partitions
    assert (empty.start_offset, empty.end_offset, empty.size_bytes) == (0, 0, 0)
    assert (filled.start_offset, filled.end_offset, filled.last_stable_offset) == (2, 3, 3)
    assert filled.size_bytes > 0
    assert filled.leader == filled.replicas[0]
    assert len(filled.replicas) == len(filled.in_sync_replicas) == 2


@pytest.mark.parametrize(
    ("assignment", "assigned"),
    [
        (b"", {}),
        (b"\0", {}),
        (b"mine", {}),  # of a protocol that only its members understand
        (
            b"\0\0" + ASSIGNMENT,
            {"words": [0, 2]},
        ),
    ],
)
async def test_a_classic_group(
    clients: Any, assignment: bytes, assigned: dict[str, list[int]]
) -> None:
    client, _ = await with_words(clients)
    running = clients.broker._running
    joined = await join(client)
    (member,) = at_once(viewing_group(running, group_of(running, "group"))).members
    assert (member.member_id, member.ready, member.assigned) == (joined.member_id, False, {})
    mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)
    request = SyncGroupRequest(
        group_id="group",
        member_id=joined.member_id,
        generation_id=joined.generation_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[mine],
    )
    assert (await client.ask(request, 5)).error_code == 0
    group = at_once(viewing_group(running, group_of(running, "group")))
    assert (group.type, group.state, group.generation) == ("classic", "Stable", 1)
    (member,) = group.members
    assert (member.ready, member.assigned) == (True, assigned)
    assert (member.client_id, member.client_host) == ("reader", "/127.0.0.1")
    assert member.session_ends_in_ms is not None
    assert 0 < member.session_ends_in_ms <= 10_000


async def test_the_lag_is_to_the_high_watermark(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    broker: test_broker = clients.broker
    assert at_once(committed_by(broker._running, "group")) == []
    await broker.asynchronous.produce("words", "v", count=5)
    assert await commit(client, topic_id, 2) == 0
    assert at_once(committed_by(broker._running, "group")) == [CommittedView("words", 0, 2, 3, "")]
    assert await commit(client, topic_id, 9) == 0
    assert at_once(committed_by(broker._running, "group"))[0].lag == 0


async def test_a_group_of_the_consumer_protocol(clients: Any) -> None:
    client, _ = await with_words(clients)
    request = ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id="m",
        instance_id="i",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["words"],
        topic_partitions=[],
    )
    joined = await client.ask(request, 1)
    assert joined.error_code == 0
    running = clients.broker._running
    group = at_once(viewing_group(running, group_of(running, "group")))
    assert (group.type, group.generation) == ("consumer", joined.member_epoch)
    (member,) = group.members
    assert (member.member_id, member.instance_id) == ("m", "i")
    assert member.assigned == {"words": [0]}
    assert member.session_ends_in_ms is not None


async def test_a_share_group(clients: Any) -> None:
    client, _ = await with_words(clients)
    request = ShareGroupHeartbeatRequest(
        group_id="queue", member_id="m", member_epoch=0, subscribed_topic_names=["words"]
    )
    assert (await client.ask(request, 1)).error_code == 0
    running = clients.broker._running
    group = at_once(viewing_group(running, group_of(running, "queue")))
    assert group.type == "share"
    (member,) = group.members
    assert (member.member_id, member.instance_id) == ("m", None)


async def test_the_tasks_of_a_streams_group_are_shown_as_the_partitions_they_read(
    clients: Any,
) -> None:
    client, _ = await with_words(clients)
    clients.broker.create_topic("other", partitions=2)
    clients.broker.create_topic("unread", partitions=2)
    subtopologies = [Subtopology("a", ["words", "other"]), Subtopology("b", ["unread"])]
    request = StreamsGroupHeartbeatRequest(
        "streams",
        "m",
        rebalance_timeout_ms=10_000,
        topology=Topology(1, subtopologies),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )
    joined = await client.ask(request, 0)
    assert {each.subtopology_id: each.partitions for each in joined.active_tasks} == {
        "a": [0, 1],
        "b": [0, 1],
    }
    running = clients.broker._running
    group = at_once(viewing_group(running, group_of(running, "streams")))
    assert group.type == "streams"
    (member,) = group.members
    # "words" has one partition: its subtopology's second task reads "other" alone.
    assert member.assigned == {"words": [0], "other": [0, 1], "unread": [0, 1]}


async def test_a_transaction_shows_its_partitions(writer: Transactional, broker: Any) -> None:
    await writer.produce(b"v", 1)
    await writer.produce(b"v", 0)
    shown = transaction_view(transaction_of(broker._running, writer.id))
    assert (shown.id, shown.state, shown.timeout_ms) == (writer.id, "Ongoing", 60_000)
    assert (shown.producer_id, shown.producer_epoch) == (writer.producer_id, writer.epoch)
    assert shown.partitions == [f"{TOPIC}-0", f"{TOPIC}-1"]
    assert shown.started_ms > 0
    await writer.end(commit=True)
    assert transaction_view(transaction_of(broker._running, writer.id)).state == "CompleteCommit"
