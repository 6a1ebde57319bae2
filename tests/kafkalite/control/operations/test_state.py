"""Verbs of a cluster as a whole: nodes, leaders, connections, time, reset and waiting."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from time import sleep
from typing import Any

import pytest
import trio

from kafkalite.control.answers import TopicView
from kafkalite.control.faults.rule import When
from kafkalite.control.problems import Problem
from kafkalite.control.questions import RequestCame, Until
from kafkalite.faults import count, error
from kafkalite.server.connection import Connection
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.group_requests import join, sync, with_words
from tests.kafkalite.longest_turn import longest_turn
from tests.kafkalite.server.test_connections import Counted
from tests.kafkalite.until import until


async def test_a_cluster_says_how_much_there_is(broker: test_broker, client: Any) -> None:
    k = broker.asynchronous
    broker.create_topic("t", partitions=2)
    await k.produce("t", "v", count=3)
    await k.lose("t", 0, 1)
    shown = await k.describe()
    assert (shown.name, shown.bootstrap, shown.cluster_id) == (
        "default",
        broker.bootstrap,
        broker.cluster_id,
    )
    assert (shown.topics, shown.records, shown.connections, shown.resets) == (1, 2, 1, 0)
    was = await k.reset()
    assert (was.topics, was.records, was.groups) == (1, 2, 0)
    after = await k.describe()
    assert (after.topics, after.records, after.connections, after.resets) == (0, 0, 0, 1)
    assert after.cluster_id == shown.cluster_id


async def test_a_reset_cuts_a_crowd_of_connections_little_by_little(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, abort = Counted(), Connection.abort

    def slowly(connection: Connection, reason: str = "cut") -> None:
        counted.in_step[-1] += 1
        sleep(0.0005)
        abort(connection, reason)

    host, _, port = broker.bootstrap.rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(100)]
    await until(lambda: len(broker._running.connections) == len(silent))
    monkeypatch.setattr(Connection, "abort", slowly)
    trio.lowlevel.add_instrument(counted)
    await broker.asynchronous.reset()
    trio.lowlevel.remove_instrument(counted)
    assert sum(counted.in_step) == len(silent)
    assert max(counted.in_step) <= 20
    for sock in silent:
        assert sock.recv(1) == b""
        sock.close()


@pytest.mark.parametrize("keep", [[], ["faults"], ["clock"], ["clock", "faults"]])
async def test_a_reset_keeps_what_it_is_told(broker: test_broker, keep: Any) -> None:
    k = broker.asynchronous
    await k.fault("EndTxn", id="f", do=count)
    await k.clock.advance("1h")
    await k.reset(keep=keep)
    assert [each.rule.id for each in await k.faults.list()] == (["f"] if "faults" in keep else [])
    assert ((await k.clock.show()).ahead_ms > 3_000_000) == ("clock" in keep)


async def test_a_fetch_that_waits_is_answered_and_its_connection_kept(
    broker: test_broker, connect: Any
) -> None:
    """Here requests wait in tasks, as the trio is the test's own."""
    k = broker.asynchronous
    broker.create_topic("t")
    client = await connect(broker, 1, "app")
    topic = FetchTopic(topic_id=broker.topic_id("t"), partitions=[FetchPartition(partition=0)])
    await client.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[topic]))
    await k.wait.connections("app", at_least=1)
    await trio.testing.wait_all_tasks_blocked()
    was = await k.reset(connections="keep")
    assert was.connections == 1
    assert (await client.answer()).error_code == 0
    assert (await client.ask(MetadataRequest(topics=None))).topics == []


async def test_a_rule_wakes_the_requests_that_wait(broker: test_broker, connect: Any) -> None:
    k = broker.asynchronous
    broker.create_topic("t")
    client = await connect(broker, 1, "app")
    topic = FetchTopic(topic_id=broker.topic_id("t"), partitions=[FetchPartition(partition=0)])
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[topic])
    await client.send(request)
    await k.wait.connections("app", at_least=1)
    await trio.testing.wait_all_tasks_blocked()
    fault = await k.fault("Fetch", do=error("KAFKA_STORAGE_ERROR"), wake=True)
    assert (await client.answer()).error_code == 0
    assert await fault_applied(k, fault) == 0
    assert (await client.ask(request)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert await fault_applied(k, fault) == 1


async def fault_applied(k: Any, fault: Any) -> int:
    shown = await k.ask("faults.show", fault=fault.id)
    return int(shown.applied)


# Nodes


def up(broker: test_broker) -> dict[int, bool]:
    return {each.node: each.up for each in broker.nodes()}


async def test_nodes_go_and_come_back(three: test_broker) -> None:
    k = three.asynchronous
    assert up(three) == {1: True, 2: True, 3: True}
    addresses = {each.node: each.address for each in three.nodes()}
    await k.stop_node(2)
    assert up(three) == {1: True, 2: False, 3: True}
    with pytest.raises(Problem, match="node 2 is not up"):
        await k.stop_node(2)
    await k.start_node(2)
    with pytest.raises(Problem, match="node 2 was not stopped"):
        await k.start_node(2)
    assert {each.node: each.address for each in three.nodes()} == addresses
    added = await k.add_node()
    assert up(three)[added] is True
    await k.remove_node(added)
    assert added not in up(three)
    with pytest.raises(Problem, match="no node 9"):
        await k.remove_node(9)


async def test_a_node_is_restarted(
    three: test_broker, autojump_clock: trio.testing.MockClock
) -> None:
    k = three.asynchronous
    three.create_topic("t", replication_factor=3)
    leader = three.topic("t").partitions[0].leader
    addresses = {each.node: each.address for each in three.nodes()}
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(k.restart_node, leader, "30s")
        await trio.sleep(29)
        assert up(three)[leader] is False
        assert three.topic("t").partitions[0].leader != leader
    assert 30 <= trio.current_time() - began < 31
    assert up(three) == {1: True, 2: True, 3: True}
    assert {each.node: each.address for each in three.nodes()} == addresses
    with pytest.raises(Problem, match="node 9 is not up"):
        await k.restart_node(9)


async def test_a_node_that_came_back_meanwhile_is_left_alone(
    three: test_broker, autojump_clock: trio.testing.MockClock
) -> None:
    k = three.asynchronous
    for turn in ("start", "reset"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(k.restart_node, 2, "30s")
            await trio.sleep(10)
            await (k.start_node(2) if turn == "start" else k.reset())
            assert up(three)[2] is True
        assert up(three) == {1: True, 2: True, 3: True}


async def test_a_node_waits_for_its_turn_to_come_back(
    three: test_broker, autojump_clock: trio.testing.MockClock
) -> None:
    """A reset may be under way, which hands the addresses on."""
    assert up(three)[2] is True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(three.asynchronous.restart_node, 2, "30s")
        await trio.sleep(10)
        async with three._default.turn:
            await trio.sleep(40)
            assert up(three)[2] is False
    assert up(three)[2] is True


@pytest.mark.parametrize("going", [[2], [1, 2], [1, 2, 3]])
async def test_a_reset_brings_back_the_nodes_that_were_removed(
    three: test_broker, going: list[int]
) -> None:
    """The addresses of the others stay; an added node goes."""
    k = three.asynchronous
    added = await k.add_node()
    for node in going:
        await k.remove_node(node)
    stayed = {each.node: each.address for each in three.nodes() if each.node != added}
    for _ in range(2):
        await k.reset()
        addresses = {each.node: each.address for each in three.nodes()}
        assert up(three) == {1: True, 2: True, 3: True}
        assert addresses | stayed == addresses
        three.create_topic("t", replication_factor=3)


async def test_the_only_node_stays(broker: test_broker) -> None:
    with pytest.raises(Problem) as caught:
        await broker.asynchronous.remove_node(1)
    assert caught.value.code == "conflict"
    assert up(broker) == {1: True}


def leaders(topic: TopicView) -> list[int]:
    return [each.leader for each in topic.partitions]


async def test_a_leader_moves_to_a_replica_in_sync(three: test_broker) -> None:
    k = three.asynchronous
    three.create_topic("t", partitions=2, replication_factor=2)
    first, second = three.topic("t").partitions
    follower = next(each for each in first.replicas if each != first.leader)
    moved = await k.move_leader("t", 0, follower)
    assert leaders(moved) == [follower, second.leader]
    assert moved.partitions[0].leader_epoch == first.leader_epoch + 1
    outside = ({1, 2, 3} - set(first.replicas)).pop()
    with pytest.raises(Problem, match=f"node {outside} is not in sync with t-0") as caught:
        await k.move_leader("t", 0, outside)
    assert caught.value.code == "conflict"
    again = await k.move_leader("t", 0, follower)
    assert again == moved  # it leads already


async def test_all_leaders_move_to_the_next_replica(three: test_broker) -> None:
    k = three.asynchronous
    three.create_topic("t", partitions=3, replication_factor=3)
    before = three.topic("t").partitions
    expected = [each.replicas[(each.replicas.index(each.leader) + 1) % 3] for each in before]
    assert leaders(await k.move_leader("t")) == expected
    assert leaders(await k.move_leader("t", 1)) == [
        expected[0],
        next(each for each in before[1].replicas if each not in (before[1].leader, expected[1])),
        expected[2],
    ]
    with pytest.raises(Problem, match="no partition 't-3'"):
        await k.move_leader("t", 3)


async def test_a_replica_that_is_down_does_not_come_to_lead(three: test_broker) -> None:
    k = three.asynchronous
    three.create_topic("t", replication_factor=2)
    (partition,) = three.topic("t").partitions
    follower = next(each for each in partition.replicas if each != partition.leader)
    await k.stop_node(follower)
    assert leaders(await k.move_leader("t")) == [partition.leader]


# Connections


async def test_a_connection_is_cut(broker: test_broker, connect: Any) -> None:
    k = broker.asynchronous
    one, other = await connect(broker, 1, "one"), await connect(broker, 1, "other")
    for each in (one, other):
        await each.ask(MetadataRequest(topics=[]))
    by_client = {each.client_id: each for each in await k.connections()}
    assert by_client.keys() == {"one", "other"}
    assert (by_client["one"].node, by_client["one"].listener) == (1, "PLAINTEXT")
    await k.close_connection(by_client["one"].connection)
    with pytest.raises((trio.BrokenResourceError, AssertionError)):
        await one.ask(MetadataRequest(topics=[]))
    await other.ask(MetadataRequest(topics=[]))
    with pytest.raises(Problem, match="no connection"):
        await k.close_connection(by_client["one"].connection)


# Time


async def test_time_is_shown_and_moved(broker: test_broker) -> None:
    k = broker.asynchronous
    shown = await k.clock.freeze()
    assert (shown.frozen, shown.skew_ms, shown.due) == (True, 0, [])
    done = await k.clock.advance(to=shown.now_ms + 5000)
    assert done.now_ms - done.from_ms == 5000
    assert (await k.clock.skew("-1h")).skew_ms == -3_600_000
    assert not (await k.clock.run()).frozen
    assert (await k.clock.reset()).skew_ms == 0


async def test_time_stays_where_it_can_be_written_and_shown(broker: test_broker) -> None:
    k = broker.asynchronous
    for verb, by in (("clock.advance", "9000d"), ("clock.skew", "-9000d")):
        await k.ask(verb, by=by)
    for verb, by in (
        ("clock.advance", "3200000d"),
        ("clock.skew", "3200000d"),
        ("clock.skew", "-40000d"),
    ):
        with pytest.raises(Problem, match="would not be in the years 1970 to 9999"):
            await k.ask(verb, by=by)
    assert (await k.clock.show()).skew_ms == -9000 * 86_400_000
    await k.clock.reset()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "give one of"),
        ({"by": "1s", "next": True}, "give one of"),
        ({"by": "1s", "to": 5}, "give one of"),
        ({"by": "soon"}, "by is 'soon'"),
        ({"by": "-1s"}, "time does not go back"),
        ({"to": 0}, "time does not go back"),
    ],
)
async def test_a_jump_is_one_thing_and_forward(
    broker: test_broker, fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(Problem, match=told):
        await broker.asynchronous.clock.advance(**fields)


async def test_time_goes_to_what_is_due_next(clients: Any) -> None:
    client, _ = await with_words(clients)
    k = clients.broker.asynchronous
    joined = await join(client)
    await sync(client, joined)
    await k.clock.freeze()
    done = await k.clock.advance(next=True)
    assert done.expired_members == [joined.member_id]
    assert done.now_ms - done.from_ms <= 10_001
    done = await k.clock.advance(next=True)
    assert (done.expired_members, done.now_ms) == ([], done.from_ms)


# Waiting


async def test_a_wait_says_what_it_saw(broker: test_broker, client: Any) -> None:
    k = broker.asynchronous
    waited = await k.wait.connections("test", at_least=0, at_most=5)
    assert waited.met
    told = await k.ask("wait", until=Until(request=RequestCame(When(api="EndTxn"))), timeout="10ms")
    assert not told.met
    assert told.took_ms >= 10
    assert told.because.startswith("0 of 1 such requests came")
    with pytest.raises(Problem, match="timeout is 'soon'"):
        await k.wait.topic("t", timeout="soon")


@pytest.mark.parametrize("what", ["advance", "clean", "roll", "show", "restart", "restore"])
async def test_verbs_of_thousands_of_logs_keep_nobody_waiting(
    broker: test_broker, what: str
) -> None:
    k = broker.asynchronous
    broker.create_topic("t", partitions=2000)
    if what == "restore":
        await k.snapshot("s")
    verbs: dict[str, Callable[[], Awaitable[object]]] = {
        "advance": lambda: k.clock.advance("8d"),
        "clean": k.clean,
        "roll": lambda: k.ask("topics.roll", topic="t"),
        "show": k.clock.show,
        "restart": k.restart,
        "restore": lambda: k.restore("s"),
    }
    with longest_turn() as turn:
        await verbs[what]()
    assert turn.seconds < 0.02
