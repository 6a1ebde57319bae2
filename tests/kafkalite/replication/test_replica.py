"""A replica takes in the metadata: it leads, follows, or is gone."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalite.replication.replica import Replica
from kafkalite.replication.roles import Action, Role
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.replication.one_replica import (
    ELSEWHERE,
    FOLLOWED,
    LED,
    TOPIC_ID,
    Surroundings,
    View,
    batch,
    new_log,
    new_replica,
)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Replica, Surroundings]:
    around = Surroundings()
    return new_replica(tmp_path, around), around


def test_from_follower_to_leader_and_away(
    made: tuple[Replica, Surroundings],
) -> None:
    replica, around = made
    replica.change(FOLLOWED)
    assert around.done == ["unfollow", "follow 2"]
    around.done.clear()
    replica.change(replace(LED, leader_epoch=2, partition_epoch=2))
    assert replica.leading is not None
    assert around.done == ["unfollow"]
    replica.change(replace(FOLLOWED, leader_epoch=3, partition_epoch=3))
    assert replica.leading is None
    assert around.done[-1] == "follow 2"
    assert replica.change(replace(ELSEWHERE, leader_epoch=4, partition_epoch=4)) is Action.DELETE
    assert around.done[-1] == "unfollow"


def test_a_follower_goes_on_where_only_the_partition_epoch_is_new(
    made: tuple[Replica, Surroundings],
) -> None:
    replica, around = made
    replica.change(FOLLOWED)
    around.done.clear()
    replica.change(replace(FOLLOWED, partition_epoch=2, in_sync_replicas=(2,)))
    assert around.done == []
    replica.change(replace(FOLLOWED, partition_epoch=3, leader_epoch=2))
    assert around.done == ["unfollow", "follow 2"]


def test_without_a_leader_nothing_is_copied(made: tuple[Replica, Surroundings]) -> None:
    replica, around = made
    replica.change(replace(FOLLOWED, leader_id=-1))
    assert around.done == ["unfollow"]
    assert not replica.is_following


def test_metadata_that_come_late_are_passed_over(made: tuple[Replica, Surroundings]) -> None:
    """An answer to AlterPartition was ahead of them."""
    replica, _ = made
    replica.change(LED)
    assert replica.leading is not None
    replica.leading.in_sync.propose([1])
    replica.leading.altered([1], 1, 7)
    assert replica.change(replace(LED, partition_epoch=6)) is Action.NOTHING
    assert replica.leading.in_sync.committed == [1]
    replica.change(replace(LED, partition_epoch=8))
    assert replica.leading.in_sync.committed == [1, 2]


def test_those_who_wait_are_told_of_every_change(made: tuple[Replica, Surroundings]) -> None:
    replica, _ = made
    told: list[Role] = []
    replica.on_change = lambda: told.append(replica.role)
    replica.change(LED)
    replica.change(replace(FOLLOWED, leader_epoch=2, partition_epoch=2))
    replica.change(LED)  # late: nothing changes
    assert told == [Role.LEADER, Role.FOLLOWER]


def test_what_a_leader_appends_is_committed_when_it_is_alone(
    made: tuple[Replica, Surroundings],
) -> None:
    replica, _ = made
    replica.appended()  # of no one that leads
    replica.change(replace(LED, in_sync_replicas=(1,)))
    replica.log.append(batch(b"v"), leader_epoch=1)
    assert replica.log.high_watermark == 0
    replica.appended()
    assert replica.log.high_watermark == 1


def test_a_log_that_moved_goes_on_where_it_was(
    made: tuple[Replica, Surroundings], tmp_path: Path
) -> None:
    replica, _ = made
    replica.change(replace(LED, in_sync_replicas=(1,)))
    moved = new_log(tmp_path, 1)
    for log in (replica.log, moved):
        log.append_as_follower(batch(b"a", b"b", epoch=0))
    replica.log.advance_high_watermark(1)
    replica.use(moved)
    assert replica.log is moved
    assert moved.high_watermark == 1
    assert replica.leading is not None
    assert replica.leading.log is moved


@pytest.mark.parametrize(("view", "role"), [(LED, Role.LEADER), (FOLLOWED, Role.FOLLOWER)])
def test_a_log_that_could_not_be_opened_is_there_again(
    made: tuple[Replica, Surroundings], tmp_path: Path, view: View, role: Role
) -> None:
    """The disk was full at the election, or when the first records came."""
    replica, around = made
    replica.log.offline_reason = "no room"
    if role is Role.LEADER:
        with pytest.raises(KafkaError):
            replica.change(view)
    else:
        replica.change(view)
        replica.fetch_state.stop()
    around.done.clear()
    replica.use(new_log(tmp_path, 1))
    assert (replica.role, replica.leading is not None) == (role, role is Role.LEADER)
    assert around.done == ["unfollow"] if role is Role.LEADER else ["unfollow", "follow 2"]
    assert replica.fetch_state.is_due(0)


def test_a_leader_is_elected_on_a_full_disk(
    made: tuple[Replica, Surroundings], monkeypatch: pytest.MonkeyPatch
) -> None:
    replica, _ = made

    def full(*of: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(replica.log.files), "write_atomically", full)
        replica.change(replace(LED, in_sync_replicas=(1,)))
    assert replica.leading is not None
    replica.log.append(batch(b"v"), leader_epoch=1)
    replica.appended()
    assert (replica.log.high_watermark, replica.log.leader_epochs.entries) == (1, [(1, 0)])


def test_a_leader_whose_disk_is_broken_does_not_lead(
    made: tuple[Replica, Surroundings], monkeypatch: pytest.MonkeyPatch
) -> None:
    replica, _ = made

    def broken(*of: object, **more: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(type(replica.log.files), "write_atomically", broken)
    with pytest.raises(KafkaError):
        replica.change(LED)
    assert replica.leading is None
    assert replica.log.offline_reason is not None


def test_a_follower_that_was_stopped_begins_anew_in_another_epoch(
    made: tuple[Replica, Surroundings],
) -> None:
    replica, _ = made
    replica.change(FOLLOWED)
    replica.fetch_state.stop()
    replica.change(replace(FOLLOWED, partition_epoch=2))
    assert not replica.fetch_state.is_due(1e9)
    replica.change(replace(FOLLOWED, partition_epoch=3, leader_epoch=2))
    assert replica.fetch_state.is_due(0)


def test_a_replica_is_named(made: tuple[Replica, Surroundings]) -> None:
    replica, _ = made
    assert replica.key == (TOPIC_ID, 0)
    assert repr(replica) == "<Replica t-0 NOWHERE>"
