"""Topologies of streams groups that no Kafka Streams application has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.streams_requests import beat, describe, join, source, topology
from kafkalite.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    Subtopology,
    TopicInfo,
    Topology,
)

__all__ = ["source"]  # the fixture


def _one(
    *sources: str,
    stores: tuple[TopicInfo, ...] = (),
    repartition: tuple[TopicInfo, ...] = (),
    together: tuple[int, ...] = (),
) -> Topology:
    groups = [CopartitionGroup(source_topics=list(together))] if together else []
    part = Subtopology(
        "0",
        source_topics=list(sources),
        state_changelog_topics=list(stores),
        repartition_source_topics=list(repartition),
        copartition_groups=groups,
    )
    return topology(part)


_SETTING = KeyValue(key="cleanup.policy", value="compact")
# By name: the topology, given a topic that is there.
ODD: dict[str, Callable[[str], Topology]] = {
    "an epoch below 0": lambda name: topology(Subtopology("0", [name]), epoch=-1),
    "a subtopology twice": lambda name: topology(Subtopology("0", [name]), Subtopology("0")),
    "a source twice": lambda name: _one(name, name, together=(0, 1)),
    "a source that is not there": lambda name: _one(name, f"{name}-nil"),
    "a group of what is not named": lambda name: _one(name, f"{name}-nil", together=(0, 7)),
    "a repartition topic of -1": lambda name: _one(name, repartition=(TopicInfo(f"{name}-r", -1),)),
    "a repartition topic twice": lambda name: _one(
        name, repartition=(TopicInfo(f"{name}-r", 2), TopicInfo(f"{name}-r", 2))
    ),
    "a changelog twice": lambda name: _one(
        name, stores=(TopicInfo(f"{name}-s"), TopicInfo(f"{name}-s"))
    ),
    "a config twice": lambda name: _one(
        name, stores=(TopicInfo(f"{name}-s", topic_configs=[_SETTING, _SETTING]),)
    ),
    "no subtopology": lambda name: topology(),
    "an id without letters": lambda name: topology(Subtopology("", [name])),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_first_topology(pair: Pair, group: str, source: str, odd: str) -> None:
    join(pair, group, "m-1", ODD[odd](source))
    describe(pair, group)
    beat(pair, group, member_epoch=2)
    beat(pair, group, member_epoch=-1)


@pytest.mark.parametrize("odd", ODD)
def test_a_later_topology(pair: Pair, group: str, source: str, odd: str) -> None:
    join(pair, group, "m-1", _one(source))
    join(pair, group, "m-2", ODD[odd](source))
    describe(pair, group)
    for name in ("m-1", "m-2"):
        beat(pair, group, name, member_epoch=-1)


def test_client_tags_with_one_key(pair: Pair, group: str, source: str) -> None:
    tags = [KeyValue(key="zone", value=value) for value in ("a", "b")]
    join(pair, group, "m-1", _one(source), client_tags=tags)
    describe(pair, group)
    join(pair, group, "m-1", _one(source), client_tags=tags[:1])
    join(pair, group, "m-1", _one(source), client_tags=tags)
    describe(pair, group)
    beat(pair, group, member_epoch=-1)
