"""The offsets that groups have committed, and those that wait for the end of a transaction.

The table is the sum of the records of a partition of `__consumer_offsets`. Applied in order, they
give the same table after a restart. A transaction's offsets are pending, and not read, until its
marker comes (KIP-98). Then each counts, unless a record after it is for the same partition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

NO_TOPIC_ID = UUID(int=0)
NO_OFFSET = -1
NO_EPOCH = -1
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1

PartitionOffsets = dict[int, "CommittedOffset"]
TopicOffsets = dict[str, PartitionOffsets]
"""Offsets by topic name and partition."""


@dataclass(slots=True)
class CommittedOffset:
    """`record_offset` is the offset of its record in `__consumer_offsets`.

    `expire_timestamp_ms` is set only if the client asked for a retention of its own (OffsetCommit
    versions 2-4).
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIMESTAMP
    topic_id: UUID = NO_TOPIC_ID
    record_offset: int = NO_OFFSET

    def is_of(self, topic_id: UUID) -> bool:
        """False if it was committed for a deleted topic of the same name. An unknown id matches
        any."""
        return NO_TOPIC_ID in (self.topic_id, topic_id) or self.topic_id == topic_id


class OffsetTable:
    """Offsets of all groups of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._by_group: dict[str, TopicOffsets] = {}
        self._pending: dict[int, dict[str, TopicOffsets]] = {}
        """By producer id, then group."""

    def apply(
        self,
        group_id: str,
        topic: str,
        partition: int,
        committed: CommittedOffset | None,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Take in what a record says; None is a tombstone."""
        if committed is None:
            remove(self._by_group, group_id, topic, partition)
            for groups in self._pending.values():
                remove(groups, group_id, topic, partition)
        else:
            groups = (
                self._by_group
                if producer_id == NO_PRODUCER_ID
                else self._pending.setdefault(producer_id, {})
            )
            groups.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Take in a marker: the producer's pending offsets count from now on, or are dropped."""
        for group_id, topics in self._pending.pop(producer_id, {}).items():
            if not committed:
                continue
            for topic, partitions in topics.items():
                current = self._by_group.setdefault(group_id, {}).setdefault(topic, {})
                for partition, pending in partitions.items():
                    other = current.get(partition)
                    if other is None or pending.record_offset > other.record_offset:
                        current[partition] = pending

    def of_group(self, group_id: str) -> TopicOffsets:
        """Do not change what this returns."""
        return self._by_group.get(group_id, {})

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_group.get(group_id, {}).get(topic, {}).get(partition)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """True if an open transaction has committed an offset there: reads must wait for it."""
        return any(
            partition in groups.get(group_id, {}).get(topic, {})
            for groups in self._pending.values()
        )

    def has_pending(self, group_id: str) -> bool:
        return any(group_id in groups for groups in self._pending.values())

    def partitions_of(self, group_id: str) -> Iterator[tuple[str, int]]:
        """All the group has offsets for, pending ones included, each once."""
        found = {
            (topic, partition): None
            for groups in (self._by_group, *self._pending.values())
            for topic, partitions in groups.get(group_id, {}).items()
            for partition in partitions
        }
        return iter(found)

    def partitions_of_topic(self, topic: str, topic_id: UUID) -> Iterator[tuple[str, int]]:
        """(group id, partition) of every offset for this topic, pending ones included."""
        found = {
            (group_id, partition): None
            for groups in (self._by_group, *self._pending.values())
            for group_id, topics in groups.items()
            for partition, committed in topics.get(topic, {}).items()
            if committed.is_of(topic_id)
        }
        return iter(found)


def remove(groups: dict[str, TopicOffsets], group_id: str, topic: str, partition: int) -> None:
    """Remove one offset, and what is empty without it."""
    topics = groups.get(group_id)
    partitions = topics.get(topic) if topics else None
    if topics is None or partitions is None:
        return
    partitions.pop(partition, None)
    if not partitions:
        del topics[topic]
    if not topics:
        del groups[group_id]
