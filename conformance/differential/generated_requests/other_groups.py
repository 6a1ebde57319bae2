"""Requests of share and streams groups among all others: for what a group of one kind answers to
requests of another.

What their members do has stories of its own (queue_stories.py, streams_stories.py). Members of
share groups read no topic that is there: Apache Kafka makes share states by and by.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.differential.generated_requests.references import Member, MemberEpoch, Name
from conformance.differential.generated_requests.vocabulary import (
    G0,
    G1,
    GROUP,
    INSTANCE,
    T0,
    T1,
    Values,
    of,
    often,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
)
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition as AlteredPartition,
)
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestTopic as AlteredTopic,
)
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    Topology,
)
from kafkalite.wire.messages.write_share_group_state import StateBatch

NOT_THERE = Name("none")
MEMBER = of(*[Member("a", True)] * 8, *[Member("b", True)] * 5, "")
EPOCH = of(*[MemberEpoch()] * 10, 0, 0, -1, -1, -2, MemberEpoch(1), -3)
NAMED = of(*[G0] * 12, *[G1] * 6)

# No batch that ends before it begins: with some of those Apache Kafka goes round and round, and
# nothing in it changes any more.
STATE_BATCHES = st.builds(
    lambda first, count, *delivered: StateBatch(first, first + count, *delivered),
    st.integers(0, 9),
    of(0, 0, 1, 2, 5),
    of(0, 2, 4),
    of(1, 1, 2, 5),
)
START = of(0, 0, 1, 2, 3, 5, -1, -2, 2**63 - 1)
STATE_EPOCH = of(0, 0, 1, 1, 2, 3, 7, -1)

BY_API: dict[ApiKey, dict[str, Values]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: {
        "member_id": MEMBER,
        "member_epoch": EPOCH,
        "rack_id": of(None, None, "r", ""),
        "subscribed_topic_names[]": of(NOT_THERE, NOT_THERE, Name("neither"), ""),
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        "topic_name": of(T0, T1, NOT_THERE, ""),
        # Apache Kafka does not answer for long if a partition is not there.
        "partitions[]": st.just(0),
    },
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {"topic_name": of(T0, T1, NOT_THERE, "")},
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: {"state_epoch": STATE_EPOCH, "start_offset": START},
    ApiKey.WRITE_SHARE_GROUP_STATE: {
        "state_epoch": STATE_EPOCH,
        "start_offset": START,
        "delivery_complete_count": of(0, 1, 5, -1),
    },
}


def _altered(topic: Any, partitions: tuple[int, ...], offset: int) -> AlteredTopic:
    return AlteredTopic(topic, [AlteredPartition(each, offset) for each in partitions])


# Not partitions alone that a topic does not have: of the topic that is noted all the same, without
# partitions, Apache Kafka makes an error (-1) when the group or its offsets are deleted. Nor
# negative ones: they are refused, and leave a group in its memory that no record tells of.
_OFFSETS = st.one_of(
    *[st.builds(_altered, st.just(T0), of((0,), (1,), (0, 1), (0, 7)), START)] * 3,
    st.builds(_altered, st.just(T1), of((0,), (0, 7)), START),
    st.builds(_altered, of(NOT_THERE, ""), of((0,), ()), START),
)
ALTERED_OFFSETS = st.builds(
    AlterShareGroupOffsetsRequest,
    group_id=GROUP,
    topics=st.lists(_OFFSETS, min_size=1, max_size=2, unique_by=lambda topic: topic.topic_name),
)


def _topology(epoch: int, *topics: Name) -> Topology:
    parts = [
        Subtopology(subtopology_id=str(number), source_topics=[name])
        for number, name in enumerate(topics)
    ]
    return Topology(epoch=epoch, subtopologies=parts)


TOPOLOGY = of(
    *[_topology(0, T0)] * 4,
    _topology(0, T0, T1),
    _topology(1, T0),
    _topology(0, Name("t3")),
    _topology(0),
)
JOINS = st.builds(
    StreamsGroupHeartbeatRequest,
    group_id=GROUP,
    member_id=MEMBER,
    member_epoch=often(0, MemberEpoch(), times=6),
    instance_id=often(None, "i", times=8),
    rack_id=of(None, "r"),
    rebalance_timeout_ms=often(300_000, -1, 0, times=8),
    topology=TOPOLOGY,
    active_tasks=often([], None, times=8),
    standby_tasks=often([], None, times=8),
    warmup_tasks=often([], None, times=8),
    # No endpoints: while topics are missing, they are an error of Apache Kafka's own (-1).
    process_id=of("p", "p", "q", "", None),
)
_tasks = of(
    None, None, [], [TaskIds("0", [0])], [TaskIds("0", [0, 1])], [TaskIds("0", [1])],
    [TaskIds("1", [0])], [TaskIds("0", [7])],
)  # fmt: skip
BEATS = st.builds(
    StreamsGroupHeartbeatRequest,
    group_id=NAMED,
    member_id=MEMBER,
    member_epoch=EPOCH,
    instance_id=INSTANCE,
    endpoint_information_epoch=of(0, 0, 1, -1),
    active_tasks=_tasks,
    standby_tasks=of(None, [], []),
    warmup_tasks=of(None, [], []),
    shutdown_application=often(False, True, times=20),
)
STREAMS_HEARTBEATS = st.one_of(JOINS, JOINS, BEATS)
# Whole requests, where the parts belong together.
REQUESTS = {
    ApiKey.STREAMS_GROUP_HEARTBEAT: STREAMS_HEARTBEATS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ALTERED_OFFSETS,
}
