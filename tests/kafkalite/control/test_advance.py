"""A jump in time does what time does, in order, and reports it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.control.advance import advance, due_next
from kafkalite.control.clock import ClusterClock
from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.group_requests import heartbeat, join, sync, with_words


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
            frozenset({TopicPartition("t", 0)}),
            client_version=2,
        )
        assert due_next(broker, clock)[0].what == "timeout of the transaction of billing-0"
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
    done = await k.clock.advance("9s", members="expire")
    assert (done.expired_members, done.kept_members) == ([], 0)
    assert done.next_due == due[0]
    done = await k.clock.advance("1s", members="expire")
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
    done = await broker.asynchronous.clock.advance("1h")
    assert (done.kept_members, done.expired_members) == (1, [])
    assert await heartbeat(client, joined) == 0
    assert done.now_ms - done.from_ms == pytest.approx(3_600_000, abs=100)
