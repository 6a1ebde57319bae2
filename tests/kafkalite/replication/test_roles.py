"""Roles and actions are a table; a replica takes in the metadata by it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from kafkalite.replication.roles import ACTIONS, Action, Role, role_of
from tests.kafkalite.replication.one_replica import ELSEWHERE, FOLLOWED, LED, ME, View


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
