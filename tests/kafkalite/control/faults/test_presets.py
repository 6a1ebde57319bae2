"""Ready-made faults do to a client what their names say."""

from __future__ import annotations

import time
from typing import Any

import pytest
import trio

from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.presets import PRESETS, preset
from kafkalite.control.problems import Problem
from kafkalite.faults import run
from kafkalite.testing import broker as running
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.record_batch import iterate_batches, iterate_records
from tests.kafkalite.control.clients import Polling, consumer, produced
from tests.kafkalite.first_partition import codes, produce
from tests.kafkalite.group_requests import find
from tests.kafkalite.transactional import Transactional

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
PARAMETERS: dict[str, dict[str, Any]] = {
    "lost_ack": {},
    "eos_commit_gap": {},
    "blackhole_client": {"client_id": "app"},
    "slow_broker": {"by": "1s"},
    "leader_election": {"topic": "t"},
    "coordinator_loading": {"group": "g"},
    "fenced_producer": {"transactional_id": "x"},
    "duplicates": {"topic": "t"},
    "poison_record": {"topic": "t"},
    "stale_metadata": {"topic": "t", "leader": 2},
    "throttled": {"client_id": "app", "by": "1s"},
    "acks_to_minority": {"topic": "t"},
    "rolling_restart": {"pause": "1s"},
    "rebalance_storm": {"group": "g"},
    "clock_skew": {"by": "-1h"},
    "disk_full": {"topic": "t"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_rules_that_can_be_done(name: str) -> None:
    made = preset(name, **PARAMETERS[name])
    book = RuleBook(lambda: 0)
    assert [book.add(rule).rule.note for rule in made] == [name] * len(made)
    assert PRESETS[name].doc.endswith(".")
    assert set(PARAMETERS[name]) <= set(PRESETS[name].parameters)


async def values(client: Any) -> list[bytes]:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=[partition])]
    )
    (answered,) = (await client.ask(request, 11)).responses[0].partitions
    return [
        bytes(record.value)
        for batch in iterate_batches(answered.records or b"")
        for record in iterate_records(batch)
    ]


async def answers_within(client: Any, request: Any, seconds: float = 0.3) -> bool:
    with trio.move_on_after(seconds):
        await client.ask(request)
        return True
    return False


async def leaders(client: Any) -> list[tuple[int, int]]:
    """The leader of each partition of the topic, and its epoch."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    partitions = (await client.ask(request, 12)).topics[0].partitions
    by_index = sorted(partitions, key=lambda each: each.partition_index)
    return [(each.leader_id, each.leader_epoch) for each in by_index]


async def test_another_replica_is_elected(three: test_broker, connect: Any) -> None:
    three.create_topic("t", partitions=2, replication_factor=3)
    client = await connect(three)
    before = await leaders(client)
    three.preset("leader_election", topic="t", times=2)
    old = await connect(three, before[0][0])
    assert await codes(old, produce(b"v", 0)) == [NOT_LEADER]
    after = await leaders(client)
    assert [epoch for _, epoch in after] == [epoch + 1 for _, epoch in before]
    assert all(new != was for (new, _), (was, _) in zip(after, before, strict=True))
    new = await connect(three, after[0][0])
    assert await codes(new, produce(b"v", 0)) == [NOT_LEADER]  # the second of two
    assert await codes(new, produce(b"v", 0)) == [0]
    assert await codes(old, produce(b"v", 0)) == [NOT_LEADER]  # by itself: it leads no longer
    assert await leaders(client) == after


async def test_a_leader_without_others_stays(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    before = await leaders(client)
    broker.preset("leader_election", topic="t")
    told = [(await codes(client, produce(b"v", 0)))[0] for _ in range(4)]
    assert told == [NOT_LEADER] * 3 + [0]
    assert await leaders(client) == before


async def test_the_answer_to_a_produce_is_lost(
    broker: test_broker, client: Any, connect: Any
) -> None:
    broker.create_topic("t")
    broker.preset("lost_ack", topic="t")
    await client.send(produce(b"v", 0), 9)
    assert await client.is_closed()
    other = await connect(broker)
    assert await values(other) == [b"v"]
    assert await codes(other, produce(b"w", 0)) == [0]


async def test_a_producer_never_hears_of_its_commit(
    broker: test_broker, writer: Transactional
) -> None:
    broker.preset("eos_commit_gap", transactional_id="w*")
    await writer.produce(b"v")
    assert not await answers_within(writer.client, writer.ending(commit=True))
    await broker.asynchronous.wait.transaction(writer.id, "CompleteCommit")


async def test_a_client_is_not_answered_any_more(broker: test_broker, connect: Any) -> None:
    black, other = [await connect(broker, 1, name) for name in ("black", "other")]
    broker.preset("blackhole_client", client_id="black")
    assert not await answers_within(black, MetadataRequest(topics=[]))
    assert await answers_within(other, MetadataRequest(topics=[]), 10)


async def test_every_request_waits(broker: test_broker, client: Any) -> None:
    broker.preset("slow_broker", by="400ms")
    for _ in range(2):
        began = trio.current_time()
        await client.ask(MetadataRequest(topics=[]))
        assert trio.current_time() - began >= 0.4


async def test_a_coordinator_loads_for_a_while(broker: test_broker, client: Any) -> None:
    await find(client, "g")
    broker.preset("coordinator_loading", group="g", times=2)
    told = [
        (await client.ask(HeartbeatRequest(group_id="g", member_id="m"), 4)).error_code
        for _ in range(3)
    ]
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert told == [loading, loading, ErrorCode.UNKNOWN_MEMBER_ID]
    assert (
        await client.ask(HeartbeatRequest(group_id="h", member_id="m"), 4)
    ).error_code != loading


async def test_a_producer_is_fenced_in_the_middle(
    broker: test_broker, writer: Transactional
) -> None:
    broker.preset("fenced_producer", transactional_id=writer.id, at=2)
    assert await writer.produce(b"first") is ErrorCode.NONE
    assert await writer.produce(b"second") is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_each_batch_is_there_twice(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    broker.preset("duplicates", topic="t", every=2)
    for value in (b"a", b"b", b"c"):
        assert await codes(client, produce(value, 0)) == [0]
    assert await values(client) == [b"a", b"a", b"b", b"c", b"c"]


async def test_a_record_comes_damaged_once(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    await codes(client, produce(b"value", 0))
    broker.preset("poison_record", topic="t")
    (poison,) = await values(client)
    assert poison != b"value"
    assert await values(client) == [b"value"]


async def test_metadata_names_an_old_leader(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    true = await leaders(client)
    broker.preset("stale_metadata", topic="t", leader=7, times=2)
    assert [await leaders(client) for _ in range(3)] == [[(7, 0)], [(7, 0)], true]


async def test_a_client_is_throttled_and_not_read(broker: test_broker, connect: Any) -> None:
    broker.create_topic("t")
    client = await connect(broker, client_id="app")
    broker.preset("throttled", client_id="app", by="400ms")
    began = trio.current_time()
    answer = await client.ask(produce(b"v", 0), 9)
    assert answer.throttle_time_ms == 400
    assert trio.current_time() - began < 0.4
    await client.ask(MetadataRequest(topics=[]))
    assert trio.current_time() - began >= 0.4


async def test_too_few_replicas_follow(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    broker.preset("acks_to_minority", topic="t")
    expected = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert await codes(client, produce(b"v", 0)) == [expected]
    assert await codes(client, produce(b"w", 0)) == [0]
    assert await values(client) == [b"v", b"w"]


def test_a_rolling_restart_does_not_hold_the_client_up() -> None:
    with running(profile="test", nodes=3) as k:
        k.create_topic("t", 1, 3)
        fault = k.preset("rolling_restart", pause="50ms")
        assert produced(k) == [None]
        k.wait.fault(fault)
        k.wait.until({"all": [{"topic": {"name": "t", "leaders": True}}]})
        deadline = time.monotonic() + 60
        while len(k.ask("events", kind="node.up")) < 3:
            assert time.monotonic() < deadline
        down = [each.about["node"] for each in k.ask("events", kind="node.down")]
        assert down == [1, 2, 3]
        assert len(k.records("t")) == 1


def test_a_storm_of_rebalances() -> None:
    with running(profile="test") as k:
        k.create_topic("t")
        fault = k.preset("rebalance_storm", group="stormy", times=2, every="100ms")
        with Polling(consumer(k, "stormy", **{"heartbeat.interval.ms": 100}), "t") as polling:
            k.wait.fault(fault)
            deadline = time.monotonic() + 60
            while len(k.ask("events", kind="rebalance.ended")) < 2:
                assert time.monotonic() < deadline
            k.wait.group("stormy", members=1, assigned=True)
            assert polling.assignments >= 1


def test_a_full_disk_until_there_is_room() -> None:
    with running(profile="test") as k:
        k.create_topic("t")
        k.create_topic("other")
        full = k.preset("disk_full", topic="t")
        (failed,) = produced(k, "t", **{"delivery.timeout.ms": 1500, "socket.timeout.ms": 1000})
        assert failed is not None
        assert produced(k, "other") == [None]
        assert full.applied > 0
        full.remove()
        assert produced(k, "t") == [None]
        assert len(k.records("t")) == 1


def test_what_is_written_is_off() -> None:
    with running(profile="test") as k:
        k.preset("clock_skew", by="-1h")
        k.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
        assert produced(k) == [None]
        (record,) = k.records("t")
        assert abs(record.timestamp + 3_600_000 - time.time() * 1000) < 600_000


def test_a_verb_beside_a_request_that_fails_is_told() -> None:
    with running(profile="test") as k:
        k.create_topic("t")
        k.fault("Produce", do=run("topics.delete", topic="none", at="beside"))
        assert produced(k) == [None]
        k.wait.until({"fault": {"id": "fault-1"}})
        assert "no topic 'none'" in k.ask("events", kind="verb.failed")[0].why


def test_parameters_may_come_as_text() -> None:
    stale = PRESETS["stale_metadata"]
    assert stale.required == ["topic", "leader"]
    given = {"topic": "t", "leader": "2", "times": "4"}
    assert stale.rules(given) == preset("stale_metadata", topic="t", leader=2, times=4)
    (always,) = PRESETS["lost_ack"].rules({"times": None})
    assert always.times is None


@pytest.mark.parametrize(
    ("given", "told"), [({}, "needs topic"), ({"topic": "t", "topics": "u"}, "has no topics")]
)
def test_parameters_that_are_wrong_are_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Problem, match=f"poison_record {told}") as caught:
        PRESETS["poison_record"].rules(given)
    assert caught.value.hint == "its parameters are topic"
