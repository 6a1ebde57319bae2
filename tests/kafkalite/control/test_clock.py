"""Time as a verb: what follows a cluster's clock, what does not, and what a jump reports."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from kafkalite.broker import Broker
from kafkalite.clock import wall_clock_ms
from kafkalite.config import BrokerConfig
from kafkalite.control.advance import advance, due_next
from kafkalite.control.clock import ClusterClock


async def test_both_kinds_move_and_only_the_wall_clock_is_skewed(autojump_clock: object) -> None:
    clock = ClusterClock()
    began, began_ms = clock.time(), clock.now_ms()
    clock.forward(46)
    assert clock.time() - began == 46
    assert 46_000 <= clock.now_ms() - began_ms < 47_000
    clock.skew(-3_600_000)
    assert clock.time() - began == 46
    assert clock.now_ms() < wall_clock_ms() - 3_500_000
    assert clock.trio_deadline(clock.time() + 5) == trio.current_time() + 5
    clock.reset()
    assert abs(clock.now_ms() - wall_clock_ms()) < 100
    assert clock.time() - began == 46


async def test_a_frozen_clock_stands_and_can_be_moved(autojump_clock: object) -> None:
    clock = ClusterClock()
    told: list[bool] = []
    clock.subscribe(lambda: told.append(clock.is_frozen))
    clock.freeze()
    began, began_ms = clock.time(), clock.now_ms()
    await trio.sleep(100)
    assert (clock.time(), clock.now_ms()) == (began, began_ms)
    assert clock.trio_deadline(began) == float("inf")
    clock.forward(5)
    assert (clock.time(), clock.now_ms()) == (began + 5, began_ms + 5000)
    clock.run()
    assert clock.time() == began + 5
    await trio.sleep(1)
    assert clock.time() == pytest.approx(began + 6)
    assert told == [True, True, False]


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
    from kafkalite.replica.topics import NewTopic
    from kafkalite.wire.record_batch import Record, build_batch

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
    from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
    from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
    from kafkalite.replica.topics import NewTopic

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
