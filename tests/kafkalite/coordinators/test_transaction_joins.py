"""Coordinators on other brokers are asked about partitions before the first append."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_joins import (
    FirstAppend,
    Joined,
    join_all,
)
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.config import LogConfig
from kafkalite.log.opening import open_log
from kafkalite.replica.partition import Partition
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.coordinators.virtual_coordinator import COORDINATOR, ONE, TWO, World


@pytest.fixture
async def world(autojump_clock: MockClock, nursery: trio.Nursery) -> World:
    return World(nursery)


@pytest.mark.parametrize("adds", [False, True])
async def test_each_partition_has_its_answer(
    autojump_clock: MockClock, world: World, adds: bool
) -> None:
    world.coordinator.codes[TWO] = ErrorCode.TRANSACTION_ABORTABLE
    assert await world.join(adds=adds) == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]
    (transaction,) = world.coordinator.asked[0].transactions
    assert transaction.verify_only is not adds
    assert (transaction.transactional_id, transaction.producer_id) == ("a", 5)
    assert [(each.name, each.partitions) for each in transaction.topics] == [("t", [0]), ("u", [1])]


@pytest.mark.parametrize(
    ("told", "answered"),
    [
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
    ],
)
async def test_errors_of_partitions_are_those_that_clients_know(
    autojump_clock: MockClock, world: World, told: ErrorCode, answered: ErrorCode
) -> None:
    world.coordinator.codes = {ONE: told}
    assert await world.join() == [answered, ErrorCode.NONE]


async def test_an_error_of_all_is_that_of_each(autojump_clock: MockClock, world: World) -> None:
    world.coordinator.error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert await world.join() == [ErrorCode.INVALID_TXN_STATE] * 2


async def test_without_an_answer_the_client_is_to_try_again(
    autojump_clock: MockClock, world: World
) -> None:
    assert await world.join("lost") == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    world.network.stop(COORDINATOR)
    assert await world.join() == [ErrorCode.NETWORK_EXCEPTION] * 2
    world.network.serve(COORDINATOR, world.coordinator.serve)
    assert await world.join() == [ErrorCode.NONE] * 2


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: 1)
    yield Partition(
        "t", UUID(int=1), 0, log, leader_id=1, leader_epoch=0, replicas=[1], in_sync_replicas=[1]
    )
    log.close()


async def joined_by(world: World, partition: Partition, *, adds: bool = True) -> Joined:
    append = FirstAppend(partition, Producer("a", 5, 0), 0)
    return await join_all(
        world.joins, [append], adds=adds, pause_seconds=0.02, patience_seconds=1.2
    )


def marker() -> bytes:
    return build_end_transaction_marker(
        producer_id=5, producer_epoch=0, commit=False, coordinator_epoch=0, timestamp=1
    )


async def test_the_guard_is_that_of_the_log(
    autojump_clock: MockClock, world: World, partition: Partition
) -> None:
    guard = (await joined_by(world, partition)).guard_of(partition)
    assert partition.log.producer_state.verifications.is_guard(5, guard)


async def test_the_end_of_the_transaction_meanwhile_makes_the_guard_void(
    autojump_clock: MockClock, world: World, partition: Partition
) -> None:
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await trio.sleep(0.2)
            partition.append(marker(), origin=AppendOrigin.COORDINATOR)

        nursery.start_soon(end)
        guard = (await joined_by(world, partition)).guard_of(partition)
    assert guard is not None
    assert not partition.log.producer_state.verifications.is_guard(5, guard)


async def test_a_coordinator_that_ends_the_last_transaction_is_asked_again(
    autojump_clock: MockClock, world: World, partition: Partition
) -> None:
    world.coordinator.codes[ONE] = ErrorCode.CONCURRENT_TRANSACTIONS
    for adds, times in ((True, 3), (False, 1)):
        world.coordinator.asked.clear()
        joined = await joined_by(world, partition, adds=adds)
        with pytest.raises(KafkaError) as refused:
            joined.guard_of(partition)
        assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS
        assert len(world.coordinator.asked) == times


async def test_a_marker_of_the_last_transaction_does_not_end_the_next(
    autojump_clock: MockClock, world: World, partition: Partition
) -> None:
    """The coordinator writes it while it says that it still ends the last transaction."""
    world.coordinator.codes[ONE] = ErrorCode.CONCURRENT_TRANSACTIONS
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await trio.sleep(0.2)
            partition.append(marker(), origin=AppendOrigin.COORDINATOR)
            await trio.sleep(0.35)
            world.coordinator.codes.clear()

        nursery.start_soon(end)
        guard = (await joined_by(world, partition)).guard_of(partition)
    assert len(world.coordinator.asked) == 2
    assert partition.log.producer_state.verifications.is_guard(5, guard)


def test_a_partition_that_was_not_asked_about_is_refused(partition: Partition) -> None:
    with pytest.raises(KafkaError) as refused:
        Joined().guard_of(partition)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
