"""Streams groups in messages: endpoints with the partitions that tasks read."""

from __future__ import annotations

from msgspec.structs import replace

from kafkalite.group_coordinator.streams_answers import (
    described,
    endpoints_of,
    topology_from,
)
from kafkalite.group_coordinator.streams_topology import ConfiguredSubtopology, ConfiguredTopology
from kafkalite.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    Subtopology,
    TopicInfo,
    Topology,
)
from tests.group_coordinator.in_memory import MemoryTopics
from tests.group_coordinator.test_streams_records import MEMBER, full


def test_a_topology_as_it_is_stored() -> None:
    said = Topology(
        epoch=3,
        subtopologies=[
            Subtopology(
                subtopology_id="0",
                source_topics=["a"],
                repartition_sink_topics=["r"],
                state_changelog_topics=[
                    TopicInfo(
                        name="s",
                        replication_factor=2,
                        topic_configs=[KeyValue(key="k", value="v")],
                    )
                ],
                copartition_groups=[CopartitionGroup(source_topics=[0])],
            )
        ],
    )
    stored = topology_from(said)
    (subtopology,) = stored.subtopologies
    (store,) = subtopology.state_changelog_topics
    assert (stored.epoch, subtopology.source_topics, store.name) == (3, ["a"], "s")
    assert (store.replication_factor, store.topic_configs[0].value) == (2, "v")
    assert subtopology.copartition_groups[0].source_topics == [0]


def test_endpoints() -> None:
    """A topic with fewer partitions than there are tasks is not read by all of them."""
    group = full()
    topics = MemoryTopics()
    topics.counts |= {"wide": 3, "narrow": 2}
    subtopology = ConfiguredSubtopology(3, frozenset({"wide", "narrow"}), {}, frozenset(), {})
    group.configured = ConfiguredTopology(2, {"0": subtopology})
    (endpoint,) = endpoints_of(group, topics)
    assert (endpoint.user_endpoint.host, endpoint.user_endpoint.port) == ("host", 65_535)
    assert {each.topic: each.partitions for each in endpoint.active_partitions} == {
        "wide": [1, 2],
        "narrow": [1],
    }
    assert endpoint.standby_partitions == [], "of a subtopology that is not known"
    group.members["m"] = replace(MEMBER, user_endpoint=None)
    assert endpoints_of(group, topics) == []


def test_a_description() -> None:
    group = described(full(), None)
    (member,) = group.members
    assert (group.group_epoch, group.assignment_epoch, group.group_state) == (6, 5, "Assigning")
    assert member.user_endpoint is not None
    assert (member.user_endpoint.host, member.client_tags[0].key) == ("host", "zone")
    assert [each.partitions for each in member.assignment.active_tasks] == [[1, 2]]
    assert [each.partitions for each in member.target_assignment.standby_tasks] == [[0, 2]]
    assert group.topology is not None
    assert group.topology.subtopologies[0].source_topics == ["orders"]
