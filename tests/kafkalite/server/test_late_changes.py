"""A change whose time is over when it is asked for is refused, and not done."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

LATE = ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
async def test_topics_stay_as_they_are(broker: test_broker, client: Any, timeout_ms: int) -> None:
    broker.create_topic("t", 1)
    late = {"timeout_ms": timeout_ms}
    new = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    created = await client.ask(CreateTopicsRequest(topics=[new], **late))
    (one,) = created.topics
    assert (one.name, one.error_code, one.error_message) == ("new", LATE, None)
    by_name = DeleteTopicsRequest(topic_names=["t"], **late)
    (one,) = (await client.ask(by_name, 5)).responses
    assert (one.name, one.error_code, one.error_message) == ("t", LATE, None)
    by_id = DeleteTopicState(topic_id=broker.topic_id("t"))
    (one,) = (await client.ask(DeleteTopicsRequest(topics=[by_id], **late))).responses
    assert (one.name, one.topic_id, one.error_code) == (None, broker.topic_id("t"), LATE)
    more = CreatePartitionsTopic(name="t", count=2, assignments=None)
    (one,) = (await client.ask(CreatePartitionsRequest(topics=[more], **late))).results
    assert (one.name, one.error_code, one.error_message) == ("t", LATE, None)
    topics = broker._running.services.topics
    assert topics.get("new") is None
    kept = topics.get("t")
    assert kept is not None
    assert len(kept.partitions) == 1


async def test_leaders_and_replicas_stay_as_they_are(broker: test_broker, client: Any) -> None:
    broker.create_topic("t", 1)
    elect = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])], timeout_ms=-1)
    answer = await client.ask(elect)
    (result,) = answer.replica_election_results[0].partition_result
    assert (answer.error_code, result.error_code, result.error_message) == (LATE, LATE, None)
    answer = await client.ask(ElectLeadersRequest(topic_partitions=None, timeout_ms=-1))
    assert (answer.error_code, answer.replica_election_results) == (LATE, [])
    partition = ReassignablePartition(partition_index=0, replicas=[1])
    topics = [ReassignableTopic(name="t", partitions=[partition])]
    move = AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=-1)
    answer = await client.ask(move)
    (result,) = answer.responses[0].partitions
    assert (answer.error_code, answer.error_message) == (LATE, None)
    assert (result.error_code, result.error_message) == (LATE, None)


async def test_nothing_is_never_late(client: Any) -> None:
    assert (await client.ask(CreateTopicsRequest(topics=[], timeout_ms=-1))).topics == []
    elected = await client.ask(ElectLeadersRequest(topic_partitions=[], timeout_ms=-1))
    assert elected.error_code == ErrorCode.NONE
