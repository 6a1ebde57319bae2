"""The partitions that members of a group were assigned, as they say that they have them."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.differential.generated_requests.references import Around, Memory, Reference
from kafkalite.wire.messages.consumer_group_heartbeat import TopicPartitions
from kafkalite.wire.messages.consumer_protocol_assignment import (
    TopicPartition as AssignedPartition,
)
from kafkalite.wire.messages.consumer_protocol_subscription import TopicPartition


@dataclass(frozen=True)
class Owned(Reference):
    """The partitions that the member around was told, in the words of the consumer protocol."""

    def resolve(self, memory: Memory, around: Around) -> list[TopicPartitions]:
        told = memory.assigned.get((around.group, around.member_id), [])
        return [each for each in told if isinstance(each, TopicPartitions)]


@dataclass(frozen=True)
class OwnedByName(Reference):
    """The same in the words of the classic protocol."""

    def resolve(self, memory: Memory, around: Around) -> list[TopicPartition]:
        told = memory.assigned.get((around.group, around.member_id), [])
        return [
            TopicPartition(each.topic, list(each.partitions))
            for each in told
            if isinstance(each, AssignedPartition)
        ]
