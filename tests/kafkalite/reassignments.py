"""Topics with replicas by hand on three nodes, and requests that move them."""

from __future__ import annotations

from typing import Any

from kafkalite.cluster.image import PartitionState
from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)


def state_of(broker: test_broker, index: int = 0, topic: str = "t") -> PartitionState:
    found = broker._running.services.topics.get(topic)
    assert found is not None
    return found.states[index]


def make(broker: test_broker, *replicas: list[int], name: str = "t") -> None:
    broker._running.services.topics.create(NewTopic(name, assignments=list(enumerate(replicas))))


async def reassign(
    client: Any, index: int, replicas: list[int] | None, version: int = 1, **options: Any
) -> tuple[int, str | None]:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="t", partitions=[partition])], **options
    )
    answer = await client.ask(request, version)
    (told,) = answer.responses[0].partitions
    return told.error_code, told.error_message


async def moving(client: Any, *names: str) -> list[tuple[int, list[int], list[int], list[int]]]:
    topics = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0]) for name in names]
    answer = await client.ask(ListPartitionReassignmentsRequest(topics=topics or None))
    return [
        (item.partition_index, item.replicas, item.adding_replicas, item.removing_replicas)
        for topic in answer.topics
        for item in topic.partitions
    ]
