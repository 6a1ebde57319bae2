"""Requests of streams groups and about them."""

from __future__ import annotations

from conformance.security.requests.vocabulary import TOPICS, Requests, TopicIds
from kafkalite.wire.messages import streams_group_describe, streams_group_heartbeat
from kafkalite.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology

_GROUPS = ("open-streams", "shut-streams")
_MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"
# No member has it: a request that gets so far is refused, and makes no group and no topic.
_EPOCH = 5


def _heartbeat(
    group: str, topology: Topology | None = None
) -> streams_group_heartbeat.StreamsGroupHeartbeatRequest:
    return streams_group_heartbeat.StreamsGroupHeartbeatRequest(
        group_id=group, member_id=_MEMBER, member_epoch=_EPOCH, topology=topology
    )


def _topologies() -> dict[str, Topology]:
    """Topics in every place where a topology names one."""
    open_topic, shut_topic = TOPICS
    return {
        "open source": _of(source_topics=[open_topic]),
        "two sources": _of(source_topics=[open_topic, shut_topic]),
        "shut sink": _of(source_topics=[open_topic], repartition_sink_topics=[shut_topic]),
        "shut repartition": _of(repartition_source_topics=[TopicInfo(name=shut_topic)]),
        "open changelog": _of(state_changelog_topics=[TopicInfo(name="open-missing")]),
        "shut changelog": _of(state_changelog_topics=[TopicInfo(name="shut-missing")]),
    }


def _of(**topics: list[str] | list[TopicInfo]) -> Topology:
    fields: dict[str, object] = {"subtopology_id": "0", **topics}
    return Topology(epoch=0, subtopologies=[Subtopology(**fields)])


def streams(ids: TopicIds) -> Requests:
    """By name."""
    made: Requests = {
        "describe streams groups": (
            streams_group_describe.StreamsGroupDescribeRequest(
                group_ids=[*_GROUPS], include_authorized_operations=True
            ),
            None,
        ),
    }
    for group in _GROUPS:
        made[f"streams heartbeat, {group}"] = (_heartbeat(group), None)
        for name, topology in _topologies().items():
            made[f"streams heartbeat, {group}, {name}"] = (_heartbeat(group, topology), None)
    return made
