"""A jump in time does what time does, in order, and reports it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.control import advance as advance_module
from kafkalite.control.advance import advance
from kafkalite.control.clock import ClusterClock
from kafkalite.control.due import due_next
from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.group_coordinator.offset_api import OffsetRequests
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.timers import AT_ONCE
from kafkalite.replica.topics import NewTopic
from kafkalite.requests.slices import Steps, at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.record_batch import Record, build_batch
from tests.group_coordinator.in_memory import Context
from tests.kafkalite.apis.share_member import ACCEPT, Member, configure, initialize, produce
from tests.kafkalite.delegation_tokens import HOUR_MS, create, describe, users_with_tokens
from tests.kafkalite.group_requests import SUBSCRIPTION, heartbeat, join, sync, with_words


@contextlib.asynccontextmanager
async def running(tmp_path: Path, clock: ClusterClock, **configs: str) -> AsyncIterator[Broker]:
    properties = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "log.retention.check.interval.ms": "1000000000",
        **{name.replace("_", "."): value for name, value in configs.items()},
    }
    with Broker(BrokerConfig(properties), clock=clock) as broker:
        async with trio.open_nursery() as nursery:
            await nursery.start(broker.serve)
            yield broker
            broker.stop()


async def test_what_time_does_to_records_is_done_and_counted(tmp_path: Path) -> None:
    clock = ClusterClock()
    async with running(tmp_path, clock) as broker:
        topics = broker.services.topics
        topics.create(NewTopic("old", 1, -1, configs={"retention.ms": "604800000"}))
        partition = topics.get("old").partitions[0]
        for value in range(3):
            record = Record(timestamp=clock.now_ms(), value=b"%d" % value)
            partition.append(build_batch([record]))
            partition.log.roll()
        done = await advance(broker, clock, 6 * 86_400_000)
        assert (partition.log.log_start_offset, done.deleted_segments) == (0, 0)
        done = await advance(broker, clock, 2 * 86_400_000)
        assert (partition.log.log_start_offset, done.deleted_segments) == (3, 3)
        assert done.now_ms - done.from_ms >= 2 * 86_400_000
        assert done.notes == []
        done = await advance(broker, clock, 8 * 86_400_000)
        assert "records bear the time of their producers" in done.notes[0]


async def test_a_long_jump_is_one_event() -> None:
    """The offsets are looked through every ten minutes: a thousand times on the way."""
    async with test_broker(profile="test") as broker:
        k = broker.asynchronous
        await k.clock.advance("8d")
        assert len(await k.events("clock.changed")) == 1


def found(directory: Path, pattern: str) -> list[Path]:
    return list(directory.glob(pattern))


async def test_files_follow_the_clock(tmp_path: Path) -> None:
    """Checkpoints, flush.ms, file.delete.delay.ms, the snapshot of the metadata."""
    clock = ClusterClock()
    never = {
        "log.flush.offset.checkpoint.interval.ms": "1000000000",
        "replica.high.watermark.checkpoint.interval.ms": "1000000000",
        "log.flush.scheduler.interval.ms": "1000000000",
        "metadata.log.max.snapshot.interval.ms": "3600000",
    }
    async with running(tmp_path, clock, **never) as broker:
        topics = broker.services.topics
        configs = {"flush.ms": "60000", "retention.ms": "86400000", "file.delete.delay.ms": "60000"}
        topics.create(NewTopic("t", 1, -1, configs=configs))
        partition = topics.get("t").partitions[0]
        for value in range(3):
            record = Record(timestamp=clock.now_ms(), value=b"%d" % value)
            partition.append(build_batch([record]))
        await advance(broker, clock, 30_000)
        assert partition.log.recovery_point == 0
        await advance(broker, clock, 31_000)
        assert partition.log.recovery_point == 3
        assert "\nt 0 3\n" in (tmp_path / "replication-offset-checkpoint").read_text()
        assert not found(tmp_path, "__cluster_metadata-0/*.checkpoint")
        partition.log.roll()
        await advance(broker, clock, 2 * 86_400_000)
        assert found(tmp_path, "__cluster_metadata-0/*.checkpoint")
        assert found(tmp_path, "t-0/*.deleted")
        await advance(broker, clock, 61_000)
        assert not found(tmp_path, "t-0/*.deleted")


async def test_leaders_are_balanced_after_their_interval() -> None:
    async with test_broker(nodes=2, profile="test") as broker:
        k = broker.asynchronous
        await k.create_topic("t", 1, 2)
        first = (await k.topic("t")).partitions[0].leader
        await k.stop_node(first)
        await k.start_node(first)
        assert (await k.clock.advance("299s")).fired == []
        assert (await k.topic("t")).partitions[0].leader == 3 - first
        fired = [each.what for each in (await k.clock.advance("2s")).fired]
        assert f"node {first} leads t-0 again" in fired
        assert (await k.topic("t")).partitions[0].leader == first


async def test_leaders_stay_while_time_stands_still() -> None:
    config = {"leader.imbalance.check.interval.seconds": 1}
    async with test_broker(config, nodes=2, profile="test") as broker:
        k = broker.asynchronous
        await k.create_topic("t", 1, 2)
        await k.clock.freeze()
        first = (await k.topic("t")).partitions[0].leader
        await k.stop_node(first)
        await k.start_node(first)
        await trio.sleep(2.2)
        assert (await k.topic("t")).partitions[0].leader == 3 - first
        await k.clock.run()
        await trio.sleep(2.2)
        assert (await k.topic("t")).partitions[0].leader == first


async def test_a_transaction_times_out_and_is_named(tmp_path: Path) -> None:
    clock = ClusterClock()
    async with running(tmp_path, clock) as broker:
        services = broker.services
        services.topics.create_internal("__transaction_state")
        services.topics.create(NewTopic("t", 1, -1))
        transactions = services.transaction_coordinator
        producer_id, epoch = transactions.init_producer_id(
            "billing-0", 1, timeout_ms=60_000, expected=None
        )
        transactions.add_partitions(
            Producer("billing-0", producer_id, epoch),
            1,
            {"t": (0,)},
            client_version=2,
        )
        assert at_once(due_next(broker, clock))[0].what == "timeout of the transaction of billing-0"
        assert (await advance(broker, clock, 59_000)).aborted == []
        done = await advance(broker, clock, 2_000)
        assert done.aborted == ["billing-0"]
        assert transactions.describe("billing-0", 1).state.title == "CompleteAbort"


async def test_sessions_end_in_the_order_of_their_deadlines(clients: Any) -> None:
    """The sessions are of ten seconds each; the second member was heard of later."""
    client, _ = await with_words(clients)
    broker: test_broker = clients.broker
    first = await join(client)
    await sync(client, first)
    k = broker.asynchronous
    await k.clock.freeze()
    due = (await k.clock.show()).due
    assert [each.what for each in due] == [f"session of member {first.member_id} in group group"]
    assert due[0].at_ms - (await k.clock.show()).now_ms <= 10_000
    done = await k.clock.advance("5s", members="expire")
    assert (done.expired_members, done.kept_members) == ([], 0)
    assert done.next_due == due[0]
    done = await k.clock.advance("5s", members="expire")
    assert done.expired_members == [first.member_id]
    assert [each.what for each in done.fired] == [
        f"member {first.member_id} of group group was let go"
    ]
    assert done.fired[0].at_ms == pytest.approx(due[0].at_ms, abs=1)
    assert done.next_due is None


async def test_a_member_that_is_connected_is_kept(clients: Any) -> None:
    client, _ = await with_words(clients)
    broker: test_broker = clients.broker
    joined = await join(client)
    await sync(client, joined)
    await broker.asynchronous.clock.freeze()
    done = await broker.asynchronous.clock.advance("1h")
    assert (done.kept_members, done.expired_members) == (1, [])
    assert await heartbeat(client, joined) == 0
    assert done.now_ms - done.from_ms == 3_600_000


async def share_member(clients: Any) -> Member:
    """A member that has fetched one record, which it keeps for 30 s by default."""
    client = await clients.connect()
    clients.broker.create_topic("t", 1, configs={"retention.ms": "-1"})
    topic_id = clients.broker._running.services.topics.get("t").topic_id
    await initialize(client, "queue", topic_id)
    await produce(client, b"a")
    member = Member(client, topic_id)
    assert await member.fetch() == [b"a"]
    return member


async def test_acquisition_locks_run_out_and_are_named(clients: Any) -> None:
    """The member is connected: what it keeps for too long is released all the same."""
    member = await share_member(clients)
    k = clients.broker.asynchronous
    lock = "acquisition lock of member member in group queue on t-0"
    done = await k.clock.advance("29s")
    assert done.fired == []
    assert done.next_due.what == lock
    assert done.next_due.at_ms - done.now_ms <= 1_000
    done = await k.clock.advance("2s")
    assert [each.what for each in done.fired] == [f"{lock} ran out"]
    assert done.next_due is None
    assert await member.fetch() == [b"a"]
    assert member.acquired == [(0, 0, 2)]
    assert await member.say((0, 0, ACCEPT)) == 0
    assert (await k.clock.advance("31s")).fired == []


async def test_no_acquisition_lock_runs_out_while_time_stands_still(clients: Any) -> None:
    client = await clients.connect()
    await configure(client, **{"share.record.lock.duration.ms": "15000"})
    k = clients.broker.asynchronous
    await k.clock.freeze()
    member = await share_member(clients)
    (due,) = (await k.clock.show()).due
    assert due.at_ms - (await k.clock.show()).now_ms == 15_000
    partitions = clients.broker._running.services.share.opened_partitions
    assert partitions is not None
    assert partitions._next_time() == math.inf
    await k.clock.run()
    assert partitions._next_time() - trio.current_time() <= 15
    assert await member.say((0, 0, ACCEPT)) == 0


async def test_delegation_tokens_end_and_are_named() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        short = await create(alice, max_lifetime_ms=HOUR_MS)
        long = await create(alice)
        k = users._broker.asynchronous
        done = await k.clock.advance("2h")
        assert [each.what for each in done.fired] == [f"delegation token {short.token_id} ended"]
        left = (await describe(alice, everything=True)).tokens
        assert [each.token_id for each in left] == [long.token_id]


async def test_a_long_jump_looks_at_many_offsets_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each sweep that would have come meanwhile."""
    looks: list[object] = []
    whole = OffsetRequests.expire

    def counted(self: OffsetRequests, shard: Shard) -> Iterator[tuple[int, Group | None]]:
        looks.append(shard)
        return whole(self, shard)

    async with test_broker() as running:
        k: Any = running.asynchronous
        await k.create_topic("orders", partitions=20)
        for number in range(20):
            await k.group(f"g{number}").seek("orders", 0)
        monkeypatch.setattr(OffsetRequests, "expire", counted)
        done = await k.clock.advance("8d")
        assert len(done.fired) == 400
        assert len(looks) <= 3 * len(set(map(id, looks)))


async def test_others_have_their_turns_while_very_many_sessions_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that they do comes after the jump: no member lives on because it was just heard of."""
    clock = ClusterClock()
    turns = 0
    async with running(tmp_path, clock, group_initial_rebalance_delay_ms="0") as broker:
        broker.services.topics.create_internal("__consumer_offsets")
        coordinator = broker.services.group_coordinator
        await trio.testing.wait_all_tasks_blocked()
        clock.freeze()
        for number in range(3 * AT_ONCE):
            protocol = JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)
            request = JoinGroupRequest(
                group_id=f"group-{number:02}",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                protocol_type="consumer",
                protocols=[protocol],
            )
            coordinator.classic.join_group(Context(api_version=3), request)
        await trio.testing.wait_all_tasks_blocked()
        members = {
            (group.group_id, member_id): group.members[member_id].session
            for group in coordinator.interventions.groups()
            for member_id in group.members
        }
        assert len(members) == 3 * AT_ONCE
        last, kept = sorted(members)[-2:]

        async def in_between(steps: Steps[Any]) -> Any:
            nonlocal turns
            while True:
                try:
                    next(steps)
                except StopIteration as done:
                    return done.value
                if coordinator._sessions.passing_until > clock.time():
                    turns += 1
                    for each in (last, kept):
                        coordinator._sessions.set(members[each], 10)

        monkeypatch.setattr(advance_module, "in_slices_of_task", in_between)
        done = await advance(broker, clock, 60_000, connected={kept})
        assert done.kept_members == 1
        assert done.expired_members == [name for _, name in sorted(members) if name != kept[1]]
        assert turns >= 3
        assert members[kept].deadline == clock.time() + 10
