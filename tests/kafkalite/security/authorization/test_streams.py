"""Streams groups: their members see every topic of the topology, or do not join (KIP-1071)."""

from __future__ import annotations

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation
from kafkalite.security.authorization.streams import heartbeat
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)
from tests.kafkalite.security.authorizers import acl, asked, on_group

TOPOLOGY = Topology(
    subtopologies=[
        Subtopology(
            subtopology_id="0", source_topics=["in"], repartition_sink_topics=["g-repartition"]
        ),
        Subtopology(
            subtopology_id="1",
            repartition_source_topics=[TopicInfo(name="g-repartition")],
            state_changelog_topics=[TopicInfo(name="g-changelog")],
        ),
    ]
)
TOPICS = ["in", "g-repartition", "g-changelog"]


def refusal(*acls: Acl, topology: Topology | None = TOPOLOGY) -> ErrorCode | None:
    request = StreamsGroupHeartbeatRequest(group_id="g", topology=topology)
    verdict = at_once(heartbeat(asked(ApiKey.STREAMS_GROUP_HEARTBEAT, request, *acls, version=0)))
    return verdict.response.error_code if verdict.is_final else None


def may_describe(*names: str) -> list[Acl]:
    return [acl(name, Operation.DESCRIBE) for name in names]


def test_the_group_is_asked_for_first() -> None:
    assert refusal(*may_describe(*TOPICS)) == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("missing", TOPICS)
def test_every_topic_has_to_be_described(missing: str) -> None:
    others = may_describe(*(name for name in TOPICS if name != missing))
    assert refusal(on_group("g"), *others) == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_members_who_see_all_are_served() -> None:
    assert refusal(on_group("g"), *may_describe(*TOPICS)) is None


def test_a_heartbeat_without_a_topology_needs_the_group_only() -> None:
    assert refusal(on_group("g"), topology=None) is None


@pytest.mark.parametrize("name", ["a b", "", "__consumer_offsets"])
def test_a_topology_that_cannot_be_is_refused_for_that(name: str) -> None:
    """The handler says why, also to one who may not see the topics."""
    topology = Topology(subtopologies=[Subtopology(source_topics=[name])])
    assert refusal(on_group("g"), topology=topology) is None
    assert refusal(topology=topology) == ErrorCode.GROUP_AUTHORIZATION_FAILED
