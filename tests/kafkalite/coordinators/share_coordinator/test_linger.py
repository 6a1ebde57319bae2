"""Updates of share states that wait for others, to be written as one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.coordinators.share_coordinator.linger import Linger
from kafkalite.replica.partition import Partition
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.coordinators.share_coordinator.test_coordinator import World
from tests.kafkalite.one_share_group import topic_created
from tests.kafkalite.server.one_dispatcher import one_dispatcher

SECONDS = 0.2
RECORD = (b"key", b"value")


class Gathered:
    """Appends to one partition; `written` are the sizes of the batches."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.written: list[int] = []
        self.lost: list[int] = []
        self.linger = Linger(SECONDS, self._write)
        self.linger.lost = self.lost.append

    def _write(self, partition: Partition, records: Any) -> int:
        offset = partition.append_trusted(records, 1)
        self.written.append(len(records))
        return offset

    def append(self, count: int = 1, *, may_linger: bool = True, value: bytes = b"value") -> int:
        records = [(b"key", value)] * count
        return self.linger.append(self.partition, records, may_linger=may_linger)


@pytest.fixture
def gathered() -> Iterator[Gathered]:
    with one_dispatcher() as asked:
        topics = asked.services.topics
        topic_created(topics, "t", 1)
        topic = topics.get("t")
        assert topic is not None
        yield Gathered(topic.partitions[0])


@pytest.fixture
async def lingering(gathered: Gathered, nursery: trio.Nursery) -> Gathered:
    """The same, with the task that writes what has waited."""
    nursery.start_soon(gathered.linger.run)
    await wait_all_tasks_blocked()
    return gathered


def code(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        work()
    return refused.value.code


async def test_what_comes_in_time_is_one_batch(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    assert [lingering.append(), lingering.append(2), lingering.append()] == [0, 1, 3]
    assert lingering.linger.asked_count == 4
    (batch,) = lingering.linger.batches
    await trio.sleep(0.9 * SECONDS)
    assert lingering.written == []
    await batch.done.wait()
    assert batch.is_written
    assert lingering.written == [4]
    assert lingering.append() == 4
    await trio.sleep(1.1 * SECONDS)
    assert lingering.written == [4, 1]


async def test_what_may_not_wait_takes_the_others_along(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    assert lingering.append(may_linger=False) == 0
    lingering.append(2)
    assert lingering.append(may_linger=False) == 3
    assert lingering.written == [1, 3]
    assert not lingering.linger.batches


async def test_a_batch_that_is_full_is_written(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    third = bytes(lingering.partition.log.config.max_batch_bytes // 3)
    assert [lingering.append(value=third) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert lingering.written == [2, 2]


def test_without_its_task_nothing_waits(gathered: Gathered) -> None:
    assert [gathered.append(), gathered.append()] == [0, 1]
    assert gathered.written == [1, 1]


async def test_a_refusal_that_is_known_is_told_at_once(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    lingering.partition.in_sync_replicas = []
    assert code(lingering.append) is ErrorCode.NOT_ENOUGH_REPLICAS
    lingering.partition.in_sync_replicas = [1]
    lingering.partition.log.offline_reason = "it is gone"
    assert code(lingering.append) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not lingering.linger.batches


async def test_what_could_not_be_written_is_lost(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    lingering.append()
    (batch,) = lingering.linger.batches
    lingering.partition.in_sync_replicas = []
    await batch.done.wait()
    assert (batch.is_written, lingering.lost) == (False, [0])
    lingering.partition.in_sync_replicas = [1]
    lingering.append()
    (batch,) = lingering.linger.batches
    lingering.partition.leader_epoch += 1
    assert code(lingering.append) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (batch.is_written, lingering.lost, lingering.written) == (False, [0, 0], [])


async def test_others_that_write_to_the_partition_are_seen(
    lingering: Gathered, autojump_clock: MockClock
) -> None:
    lingering.append()
    (batch,) = lingering.linger.batches
    lingering.partition.append_trusted([RECORD], 1)
    await batch.done.wait()
    assert (batch.is_written, lingering.lost) == (False, [0])


async def test_a_state_is_what_was_written(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The coordinator goes by an update at once, and back when it is lost."""
    with one_dispatcher() as asked:
        world = World(asked, linger_seconds=SECONDS)
        linger = world.log.linger
        assert linger is not None
        nursery.start_soon(linger.run)
        await wait_all_tasks_blocked()
        world.begin(start_offset=10)
        assert not linger.batches, "what begins a state does not wait"
        world.write(start_offset=11)
        assert world.state.start_offset == 11
        assert world.kinds() == ["ShareSnapshotKey"]
        await trio.sleep(1.1 * SECONDS)
        assert world.kinds() == ["ShareSnapshotKey", "ShareUpdateKey"]
        world.write(start_offset=12)
        partition = world.log.partition(world.log.index_of_state(world.key()))
        partition.in_sync_replicas = []
        await trio.sleep(1.1 * SECONDS)
        assert world.state.start_offset == 11
        assert world.lost == [world.key()]
