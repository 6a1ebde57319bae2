"""The topics of a topology, and the topologies that cannot be."""

from __future__ import annotations

import pytest

from kafkalite.requests.topology_names import check_topic_names, topic_names
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from tests.kafkalite.security.authorization.test_streams import TOPICS, TOPOLOGY


def test_topics_of_a_topology() -> None:
    assert sorted(topic_names(TOPOLOGY)) == sorted([*TOPICS, "g-repartition"])
    check_topic_names(TOPOLOGY)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a b", "ok", "", "a b"], "Topic names a b, are not valid topic names."),
        (
            ["a b", "__transaction_state", "__consumer_offsets"],
            (
                "Use of Kafka internal topics __transaction_state,__consumer_offsets in a Kafka "
                "Streams topology is prohibited."
            ),
        ),
    ],
)
def test_topologies_that_cannot_be(names: list[str], reason: str) -> None:
    sources, others = names[:1], [TopicInfo(name=each) for each in names[1:]]
    topology = Topology(
        subtopologies=[Subtopology(source_topics=sources, state_changelog_topics=others)]
    )
    with pytest.raises(KafkaError) as refused:
        check_topic_names(topology)
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert refused.value.message == reason
