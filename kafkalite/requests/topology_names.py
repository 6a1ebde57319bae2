"""The topics that the topology of a streams group names (KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafkalite.requests.topic_names import INTERNAL_TOPICS, is_topic_name
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.wire.messages.streams_group_heartbeat import Topology


def topic_names(topology: Any) -> Iterator[str]:
    """All topics that a topology, of a heartbeat or a description, reads or writes; some twice."""
    for subtopology in topology.subtopologies or ():
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        for topic in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics):
            yield topic.name


def check_topic_names(topology: Topology) -> None:
    """Raises KafkaError(STREAMS_INVALID_TOPOLOGY) if a topic is internal or cannot exist.

    Source: KafkaApis.handleStreamsGroupHeartbeat, which looks before it asks who may see them.
    """
    names = dict.fromkeys(topic_names(topology))
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is "
            "prohibited.",
        )
    invalid = [name for name in names if not is_topic_name(name)]
    if invalid:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Topic names {','.join(invalid)} are not valid topic names.",
        )
