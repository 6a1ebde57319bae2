"""Rules for streams groups (KIP-1071): the topics of a topology."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkalite.requests.slices import Steps
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import Asked, Verdict, handled, refused_whole
from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.wire.messages.streams_group_heartbeat import Topology


def heartbeat(asked: Asked) -> Steps[Verdict]:
    """READ on the group, DESCRIBE on every topic of the topology.

    The handler asks whether it may create those that are missing (RequestContext.may_create).
    """
    request = asked.request
    if not asked.access.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    names = set[str]() if request.topology is None else set(topic_names(request.topology))
    allowed = yield from asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if len(allowed) < len(names):
        return (yield from refused_whole(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return handled(asked)


def topic_names(topology: Topology) -> Iterator[str]:
    """All topics that a topology reads or writes, some of them twice."""
    for subtopology in topology.subtopologies:
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        for topic in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics):
            yield topic.name
