"""A leader's bookkeeping over a real log: elections, followers, proposals, the high watermark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.opening import open_log
from kafkalite.replication.leading import Leading
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch

ME = 1


@dataclass(frozen=True)
class View:
    leader_id: int = ME
    leader_epoch: int = 5
    partition_epoch: int = 10
    replicas: tuple[int, ...] = (1, 2, 3)
    in_sync_replicas: tuple[int, ...] = (1, 2)


class World:
    """Brokers, time, and the proposals that were made."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.now = 100.0
        self.epochs: dict[int, int] = {1: 11, 2: 22, 3: 33}
        self.fenced: set[int] = set()
        self.proposals: list[list[int]] = []
        self.leading = self.lead(View())

    def lead(self, view: View) -> Leading:
        return Leading(
            ME,
            self.log,
            view,
            brokers=self,
            now=lambda: self.now,
            max_lag_seconds=10,
            propose=lambda leading: self.proposals.append(leading.in_sync.proposed),
        )

    def registered_epoch(self, broker_id: int) -> int | None:
        return None if broker_id in self.fenced else self.epochs.get(broker_id)

    def known_epoch(self, broker_id: int) -> int | None:
        return self.epochs.get(broker_id)

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            self.log.append(
                build_batch([Record(timestamp=0, value=b"v")]),
                leader_epoch=self.leading.leader_epoch,
            )
            self.leading.advance()

    def fetch(self, broker_id: int, offset: int) -> None:
        self.leading.fetched(broker_id, offset, 0, self.epochs[broker_id])

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark


@pytest.fixture
def world(tmp_path: Path) -> World:
    config = LogConfig(min_insync_replicas=2)
    return World(open_log(tmp_path / "t-0", config, now_ms=lambda: 0))


def test_the_epoch_is_noted_before_anything_is_appended(world: World) -> None:
    assert world.log.leader_epochs.entries == [(5, 0)]
    world.append(3)
    world.leading.change(replace(View(), leader_epoch=7, partition_epoch=11))
    assert world.log.leader_epochs.entries == [(5, 0), (7, 3)]
    assert world.leading.epoch_start_offset == 3


def test_the_high_watermark_is_what_all_in_sync_have(world: World) -> None:
    world.append(4)
    assert world.high_watermark == 0
    world.fetch(2, 3)
    assert world.high_watermark == 3
    world.fetch(2, 4)
    assert world.high_watermark == 4


def test_who_is_about_to_join_is_waited_for(world: World) -> None:
    """Else it would join without what was acknowledged meanwhile."""
    world.append(2)
    world.fetch(3, 2)
    assert world.proposals == [[1, 2, 3]]
    world.append(2)
    world.fetch(2, 4)
    assert world.high_watermark == 2
    world.fetch(3, 4)
    assert world.high_watermark == 4


def test_below_the_minimum_it_stands_still(world: World) -> None:
    world.append(2)
    world.fetch(2, 2)
    world.leading.change(replace(View(), partition_epoch=11, in_sync_replicas=(1,)))
    world.append(3)
    assert world.high_watermark == 2


def test_who_has_not_reached_this_epoch_does_not_join(world: World) -> None:
    world.append(3)
    world.leading.change(replace(View(), leader_epoch=6, partition_epoch=11))
    world.fetch(3, 2)
    assert world.proposals == []
    world.fetch(3, 3)
    assert world.proposals == [[1, 2, 3]]


@pytest.mark.parametrize("change", [lambda w: w.fenced.add(3), lambda w: w.epochs.update({3: 34})])
def test_who_the_controllers_would_not_take_is_not_proposed(
    world: World, change: Callable[[World], None]
) -> None:
    epoch = world.epochs[3]
    change(world)
    world.leading.fetched(3, 0, 0, epoch)
    assert world.proposals == []


def test_who_falls_behind_is_proposed_to_go(world: World) -> None:
    world.append(1)
    world.fetch(2, 0)
    world.now += 10
    world.leading.shrink()
    assert world.proposals == []
    world.now += 0.1
    world.leading.shrink()
    world.leading.shrink()
    assert world.proposals == [[1]]
    # It counts until the controllers have agreed.
    world.fetch(2, 0)
    assert world.high_watermark == 0


def test_an_answer_that_the_metadata_have_overtaken_is_dropped(world: World) -> None:
    world.append(1)
    world.leading.change(replace(View(), partition_epoch=12, in_sync_replicas=(1, 2, 3)))
    assert not world.leading.altered([1], 5, 11)
    assert not world.leading.altered([1], 4, 13)
    assert world.leading.in_sync.committed == [1, 2, 3]


def test_a_follower_of_an_earlier_life_is_refused(world: World) -> None:
    world.leading.check_follower(2, 5, 22)
    world.leading.check_follower(2, 5, -1)
    with pytest.raises(KafkaError) as stale:
        world.leading.check_follower(2, 5, 21)
    assert stale.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(KafkaError) as stranger:
        world.leading.check_follower(9, 5, 1)
    assert stranger.value.code is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_the_low_watermark_is_where_all_living_replicas_begin(world: World) -> None:
    world.append(5)
    assert world.leading.low_watermark == -1  # nobody has told
    for broker_id in (2, 3):
        world.fetch(broker_id, 5)
    world.log.delete_records_before(4)
    assert world.leading.low_watermark == 0
    assert world.leading.fetched(2, 5, 4, 22), "who waits is to look again"
    assert not world.leading.fetched(2, 5, 4, 22)
    assert world.leading.low_watermark == 0
    world.leading.fetched(3, 5, 2, 33)
    assert world.leading.low_watermark == 2
    world.fenced.add(3)
    assert world.leading.low_watermark == 4


def test_a_log_that_moved_knows_the_epoch(world: World, tmp_path: Path) -> None:
    moved = open_log(tmp_path / "t-1", LogConfig(), now_ms=lambda: 0)
    world.leading.use(moved)
    assert moved.leader_epochs.entries == [(5, 0)]
    assert world.leading.log is moved
