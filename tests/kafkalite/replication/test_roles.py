"""Roles and actions are a table; a replica takes in the metadata by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.opening import open_log
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.replication.roles import ACTIONS, Action, Role, role_of

ME = 1


@dataclass(frozen=True)
class View:
    leader_id: int = ME
    leader_epoch: int = 1
    partition_epoch: int = 1
    replicas: tuple[int, ...] = (1, 2)
    in_sync_replicas: tuple[int, ...] = (1, 2)


LED = View()
FOLLOWED = replace(LED, leader_id=2)
ELSEWHERE = replace(LED, leader_id=2, replicas=(2, 3), in_sync_replicas=(2,))


class Surroundings:
    node_id = ME
    config = ReplicationConfig()

    def __init__(self) -> None:
        self.done: list[str] = []
        self.brokers = self

    def registered_epoch(self, broker_id: int) -> int | None:
        return 1

    known_epoch = registered_epoch

    def now(self) -> float:
        return 0.0

    def propose(self, replica: Replica) -> None:
        self.done.append("propose")

    def follow(self, replica: Replica) -> None:
        self.done.append(f"follow {replica.leader_id}")

    def unfollow(self, replica: Replica) -> None:
        self.done.append("unfollow")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Replica, Surroundings]:
    around = Surroundings()
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: 0)
    return Replica(around, "t", UUID(int=5), 0, log, lambda: None), around


def test_the_table_is_whole() -> None:
    assert set(ACTIONS) == set(product(Role, Role))
    for (_, to), action in ACTIONS.items():
        assert (action is Action.LEAD) == (to is Role.LEADER)
        assert (action is Action.FOLLOW) == (to is Role.FOLLOWER)


@pytest.mark.parametrize(
    ("view", "role"),
    [
        (LED, Role.LEADER),
        (FOLLOWED, Role.FOLLOWER),
        (replace(LED, leader_id=-1), Role.FOLLOWER),
        (ELSEWHERE, Role.NOWHERE),
    ],
)
def test_the_metadata_say_the_role(view: View, role: Role) -> None:
    assert role_of(ME, view) is role


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
