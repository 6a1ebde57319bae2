"""Changes of groups are told to one watcher, each of them once."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.happenings import Happenings


class Told:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, str | int]]] = []

    def __call__(self, kind: str, why: str = "", /, **about: str | int) -> None:
        self.events.append((kind, why, about))

    def taken(self) -> list[str]:
        kinds = [kind for kind, _, _ in self.events]
        self.events.clear()
        return kinds


def watched() -> tuple[Happenings, Told]:
    happenings, told = Happenings(), Told()
    happenings.watcher = told
    return happenings, told


def test_without_a_watcher_nothing_is_told() -> None:
    happenings = Happenings()
    happenings.tell("group.joined", "g", member="m")
    happenings.gone("group.left", "g", "it left", "m")
    happenings.changed(ConsumerGroup("g"))


def test_each_member_that_went_is_told_with_the_reason() -> None:
    happenings, told = watched()
    happenings.gone("group.expired", "g", "silent", "m1", "m2")
    assert told.events == [
        ("group.expired", "silent", {"group": "g", "member": "m1"}),
        ("group.expired", "silent", {"group": "g", "member": "m2"}),
    ]


def test_a_modern_group_is_compared_with_what_was_told() -> None:
    happenings, told = watched()
    group: Any = ConsumerGroup("g")
    happenings.changed(group)
    assert told.taken() == []
    group._put(group.new_member("m"))
    group.epoch += 1
    happenings.changed(group)
    assert told.taken() == ["group.joined", "rebalance.began"]
    happenings.changed(group)
    assert told.taken() == []
    group._remove("m")
    group.epoch += 1
    happenings.changed(group)
    assert told.taken() == ["rebalance.began", "rebalance.ended"]


def test_of_many_members_those_are_looked_at_that_came_or_went() -> None:
    happenings, told = watched()
    group: Any = ConsumerGroup("g")
    for name in ("b", "a", "c"):
        group._put(group.new_member(name))
    group._remove("c")  # before it was told of
    group.epoch += 1
    happenings.changed(group)
    assert [about.get("member") for _, _, about in told.events] == ["b", "a", None]
    assert (group.came, group.has_lost_some) == ({}, False)
    told.taken()
    group._put(group.members["a"])
    group._remove("b")
    group.epoch += 1
    happenings.changed(group)
    assert [why for _, why, _ in told.events] == ["a member went"]


def test_the_log_has_a_line_for_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalite.group_coordinator.happenings")
    happenings = Happenings()
    group: Any = ConsumerGroup("g")
    group._put(group.new_member("m"))
    group.epoch += 1
    happenings.changed(group)
    happenings.changed(group)
    happenings.gone("group.expired", "g", "it was not heard of", "m")
    group._remove("m")
    group.epoch += 1
    happenings.changed(group)
    assert caplog.messages == [
        "group g: member m joined",
        "group g: rebalance at generation 2: a member came",
        "group g: member m is sent away: it was not heard of",
        "group g: rebalance at generation 3: a member went",
        "group g: generation 3 has 0 member(s)",
    ]


def test_a_rebalance_without_coming_or_going_has_a_reason() -> None:
    happenings, told = watched()
    group: Any = ConsumerGroup("g")
    group._put(group.new_member("m"))
    for group.epoch, group.metadata_hash in ((2, 5), (3, 6), (4, 6)):
        happenings.changed(group)
    assert [why for kind, why, _ in told.events if kind == "rebalance.began"] == [
        "a member came",
        "topics came, changed or went",
        "a member changed, or it was asked for",
    ]


def test_a_group_that_is_gone_is_not_kept() -> None:
    happenings, _ = watched()
    happenings.changed(ConsumerGroup("g"))
    assert len(happenings._known) == 0
