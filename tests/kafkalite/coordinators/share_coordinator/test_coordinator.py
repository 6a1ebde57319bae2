"""The share coordinator: who may write a state, what is kept of it, and what a restart finds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from uuid import UUID

import pytest

from kafkalite.coordinators.share_coordinator.coordinator import (
    ShareCoordinator,
    ShareCoordinatorConfig,
    Write,
)
from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.coordinators.share_coordinator.state_log import ShareStateLog
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.one_share_group import topic_created
from tests.kafkalite.server.one_dispatcher import OneDispatcher, one_dispatcher

MINUTE_MS = 60_000


class World:
    """One share coordinator; `now_ms` is its clock. Snapshots come after two updates."""

    def __init__(self, asked: OneDispatcher, linger_seconds: float = 0.0) -> None:
        self.topics = asked.services.topics
        self.topic_id = topic_created(self.topics, "t", 2)
        self.now_ms = 1_700_000_000_000
        self.log = ShareStateLog(self.topics, lambda: self.now_ms, linger_seconds=linger_seconds)
        self.log.ensure()
        self.lost: list[SharePartitionKey] = []
        self.load: Callable[[Generator[None]], object] = at_once
        self.coordinator = self.started()

    def started(self) -> ShareCoordinator:
        """A coordinator that knows what the log says, and nothing else."""

        def partition_count(topic_id: UUID) -> int:
            topic = self.topics.by_id(topic_id)
            return 0 if topic is None else len(topic.partitions)

        return ShareCoordinator(
            ShareCoordinatorConfig(2, 5 * MINUTE_MS, 5 * MINUTE_MS),
            self.log,
            partition_count=partition_count,
            now_ms=lambda: self.now_ms,
            load=self.load,
            lost=self.lost.append,
        )

    def key(self, partition: int = 0, topic_id: UUID | None = None) -> SharePartitionKey:
        return SharePartitionKey("g", topic_id or self.topic_id, partition)

    def begin(self, state_epoch: int = 1, start_offset: int = 10) -> None:
        self.coordinator.initialize(self.key(), state_epoch, start_offset)

    def write(
        self,
        *batches: StateBatch,
        state_epoch: int = 1,
        leader_epoch: int = 0,
        start_offset: int = -1,
        done: int = 0,
    ) -> None:
        write = Write(state_epoch, leader_epoch, start_offset, done, batches)
        self.coordinator.write(self.key(), write)

    @property
    def state(self) -> ShareState:
        found = self.coordinator.summary(self.key())
        assert found is not None
        return found

    def kinds(self) -> Sequence[str]:
        """The records of the partition of the log, by their keys."""
        index = self.log.index_of_state(self.key())
        return [type(key).__name__ for _, key, _ in self.log.replay(index)]


@pytest.fixture
def world() -> Iterator[World]:
    with one_dispatcher() as asked:
        yield World(asked)


def code(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        work()
    return refused.value.code


def test_a_state_begins_with_an_offset(world: World) -> None:
    assert world.coordinator.summary(world.key()) is None
    world.begin(3, 10)
    state = world.coordinator.read(world.key(), 0)
    assert (state.state_epoch, state.start_offset, state.delivery_complete_count) == (3, 10, 0)
    assert (state.leader_epoch, state.snapshot_epoch, list(state.batches)) == (0, 0, [])


def test_a_state_without_an_offset_has_no_count(world: World) -> None:
    world.begin(start_offset=-1)
    assert (world.state.start_offset, world.state.delivery_complete_count) == (-1, -1)


def test_beginning_anew_drops_what_there_was(world: World) -> None:
    world.begin(1, 10)
    world.write(StateBatch(10, 12, 2, 1), done=3)
    world.begin(2, 50)
    assert (world.state.start_offset, list(world.state.batches)) == (50, [])
    assert world.state.snapshot_epoch == 1
    assert code(lambda: world.begin(1, 0)) is ErrorCode.FENCED_STATE_EPOCH
    world.begin(2, 60)
    world.begin(-1, 70)
    assert world.state.start_offset == 70


@pytest.mark.parametrize(
    ("partition", "topic_id", "expected"),
    [
        (-1, None, ErrorCode.INVALID_REQUEST),
        (2, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, UUID(int=9), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_partition_that_is_not_there(
    world: World, partition: int, topic_id: UUID | None, expected: ErrorCode
) -> None:
    key = world.key(partition, topic_id)
    assert code(lambda: world.coordinator.initialize(key, 1, 0)) is expected
    assert code(lambda: world.coordinator.summary(key)) is expected
    assert code(lambda: world.coordinator.delete(key)) is expected


def test_what_was_never_begun_is_not_read_or_written(world: World) -> None:
    assert code(lambda: world.coordinator.read(world.key(), 0)) is ErrorCode.INVALID_REQUEST
    assert code(world.write) is ErrorCode.INVALID_REQUEST


def test_writes_are_laid_over_one_another(world: World) -> None:
    world.begin()
    world.write(StateBatch(10, 14, 0, 1))
    world.write(StateBatch(12, 12, 2, 1), start_offset=11, done=1)
    assert (world.state.start_offset, world.state.delivery_complete_count) == (11, 1)
    assert list(world.state.batches) == [
        StateBatch(11, 11, 0, 1),
        StateBatch(12, 12, 2, 1),
        StateBatch(13, 14, 0, 1),
    ]


def test_the_leader_that_asked_last_is_the_only_one_to_write(world: World) -> None:
    world.begin()
    world.coordinator.read(world.key(), 4)
    assert world.state.leader_epoch == 4
    assert code(lambda: world.write(leader_epoch=3)) is ErrorCode.FENCED_LEADER_EPOCH
    refused = code(lambda: world.coordinator.read(world.key(), 3))
    assert refused is ErrorCode.FENCED_LEADER_EPOCH
    world.write(leader_epoch=4)
    world.write(leader_epoch=-1)
    # A new state does not let an old leader in again.
    world.begin(2)
    assert code(lambda: world.write(state_epoch=2, leader_epoch=3)) is ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.slow
def test_a_read_in_the_same_epoch_writes_nothing(world: World) -> None:
    world.begin()
    world.coordinator.read(world.key(), 4)
    before = world.kinds()
    world.coordinator.read(world.key(), 4)
    world.coordinator.read(world.key(), -1)
    assert world.kinds() == before


def test_a_write_that_rests_on_an_older_state_is_refused(world: World) -> None:
    world.begin(5)
    assert code(lambda: world.write(state_epoch=4)) is ErrorCode.FENCED_STATE_EPOCH
    world.write(state_epoch=5)
    world.write(state_epoch=-1)


def test_after_so_many_updates_comes_a_snapshot(world: World) -> None:
    world.begin()
    for offset in range(10, 14):
        world.write(StateBatch(offset, offset, 2, 1))
    assert world.kinds() == [
        "ShareSnapshotKey",
        "ShareUpdateKey",
        "ShareUpdateKey",
        "ShareSnapshotKey",
        "ShareUpdateKey",
    ]
    assert list(world.state.batches) == [StateBatch(10, 13, 2, 1)]
    assert world.state.snapshot_epoch == 1


def test_a_restart_finds_the_same(world: World) -> None:
    world.begin()
    world.coordinator.read(world.key(), 4)
    for offset in range(10, 15):
        world.write(StateBatch(offset, offset, 2, 1), leader_epoch=4)
    before = world.state
    world.coordinator = world.started()
    assert world.state == before
    assert code(lambda: world.write(leader_epoch=3)) is ErrorCode.FENCED_LEADER_EPOCH


def test_a_state_is_deleted_once(world: World) -> None:
    world.begin()
    world.coordinator.delete(world.key())
    assert world.coordinator.summary(world.key()) is None
    before = world.kinds()
    world.coordinator.delete(world.key())
    assert world.kinds() == before
    world.coordinator = world.started()
    assert world.coordinator.summary(world.key()) is None


def test_topics_that_are_gone_take_their_states_along(world: World) -> None:
    world.begin()
    at_once(world.coordinator.topics_deleted({UUID(int=9)}))
    assert world.state.start_offset == 10
    at_once(world.coordinator.topics_deleted({world.topic_id}))
    assert world.coordinator.summary(world.key()) is None
    assert world.kinds()[-1] == "ShareSnapshotKey"


def test_very_many_states_go_a_few_in_each_step(world: World) -> None:
    named = (SharePartitionKey(f"g{number}", world.topic_id, 0) for number in itertools.count())
    of_one_partition = (key for key in named if world.coordinator.log.index_of_state(key) == 7)
    keys = list(itertools.islice(of_one_partition, 20))
    for key in keys:
        world.coordinator.initialize(key, 1, 10)

    def left() -> int:
        return sum(world.coordinator.summary(key) is not None for key in keys)

    steps = world.coordinator.topics_deleted({world.topic_id})
    while left() == len(keys):
        next(steps)
    assert left() > len(keys) / 2
    world.coordinator.delete(keys[-1])  # by another, meanwhile
    at_once(steps)
    assert left() == 0


def test_a_state_that_is_not_written_to_gets_a_snapshot_in_time(world: World) -> None:
    world.begin()
    world.write(StateBatch(10, 10, 2, 1))
    world.now_ms += 4 * MINUTE_MS
    world.coordinator.snapshot_cold_partitions()
    assert world.kinds() == ["ShareSnapshotKey", "ShareUpdateKey"]
    world.now_ms += 2 * MINUTE_MS
    before = world.state
    world.coordinator.snapshot_cold_partitions()
    assert world.kinds()[2:] == ["ShareSnapshotKey"]
    assert world.state.batches == before.batches
    # No more is written of a partition in which all are cold.
    world.now_ms += 6 * MINUTE_MS
    world.coordinator.snapshot_cold_partitions()
    assert len(world.kinds()) == 3


def test_what_a_snapshot_superseded_is_forgotten(world: World) -> None:
    world.begin()
    for offset in range(10, 13):
        world.write(StateBatch(offset, offset, 2, 1))
    world.coordinator.prune()
    assert world.kinds() == ["ShareSnapshotKey"]
    before = world.state
    world.coordinator = world.started()
    assert world.state == before


def test_what_another_state_needs_is_kept(world: World) -> None:
    """All states in one partition of the log: none of them loses its snapshot."""
    other = SharePartitionKey("g", world.topic_id, 1)
    keys = [world.key(), other]
    if len({world.log.index_of_state(key) for key in keys}) > 1:
        index = world.log.index_of_state(world.key())
        names = (f"g{number}" for number in range(10_000))
        found = (SharePartitionKey(name, world.topic_id, 0) for name in names)
        other = next(key for key in found if world.log.index_of_state(key) == index)
    world.coordinator.initialize(other, 1, 5)
    world.begin()
    for offset in range(10, 13):
        world.write(StateBatch(offset, offset, 2, 1))
    world.coordinator.prune()
    world.coordinator = world.started()
    kept = world.coordinator.summary(other)
    assert kept is not None
    assert kept.start_offset == 5


def test_a_snapshot_that_is_not_replicated_supersedes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next leader might not have it."""
    world.begin()
    for offset in range(10, 13):
        world.write(StateBatch(offset, offset, 2, 1))
    partition = world.log.partition(world.log.index_of_state(world.key()))
    assert world.kinds()[-1] == "ShareSnapshotKey"
    end = partition.log.log_end_offset
    for high_watermark, start in ((end - 1, 0), (end, end - 1)):
        monkeypatch.setattr(type(partition), "high_watermark", high_watermark)
        world.coordinator.prune()
        assert partition.log.log_start_offset == start


def test_while_it_is_loaded_its_states_are_refused(world: World) -> None:
    world.begin()
    world.write(StateBatch(10, 12, 2, 1))
    loading: list[Generator[None]] = []
    world.load = loading.append
    world.coordinator = world.started()
    for _ in range(2):
        assert code(lambda: world.state) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (steps,) = loading
    next(steps)
    assert code(lambda: world.state) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.coordinator.snapshot_cold_partitions()
    world.coordinator.prune()
    assert code(lambda: world.begin(2)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    for _ in steps:
        pass
    assert list(world.state.batches) == [StateBatch(10, 12, 2, 1)]


def test_under_another_leader_epoch_it_is_loaded_anew(world: World) -> None:
    world.begin()
    loading: list[Generator[None]] = []
    world.load = loading.append
    world.coordinator = world.started()
    partition = world.log.partition(world.log.index_of_state(world.key()))
    world.coordinator.leaders_changed()
    first = loading[partition.index]
    next(first)
    partition.leader_epoch += 1
    assert list(first) == [], "of no use any more"
    world.coordinator.leaders_changed()
    assert code(lambda: world.state) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert list(loading[-1]) == [None]
    assert world.state.start_offset == 10


def test_where_others_lead_nothing_is_kept(world: World) -> None:
    world.begin()
    partition = world.log.partition(world.log.index_of_state(world.key()))
    leader_id, partition.leader_id = partition.leader_id, -1
    world.coordinator.leaders_changed()
    assert code(lambda: world.state) is ErrorCode.NOT_COORDINATOR
    partition.leader_id = leader_id
    assert world.state.start_offset == 10
