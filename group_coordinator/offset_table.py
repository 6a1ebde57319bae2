"""The offsets that groups have committed, and those that wait for the end of a transaction.

The table is the sum of the records of a partition of `__consumer_offsets`. Applied in order, they
give the same table after a restart. A transaction's offsets are pending, and not read, until its
marker comes (KIP-98). Then each counts, unless a record after it is for the same partition.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

NO_TOPIC_ID: Final = UUID(int=0)
NO_OFFSET: Final = -1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
# Groups, or offsets, that are looked at in one step.
_AT_ONCE: Final = 256

PartitionOffsets = dict[int, "CommittedOffset"]
TopicOffsets = dict[str, PartitionOffsets]
"""Offsets by topic name and partition."""


class CommittedOffset:
    """`record_offset` is the offset of its record in `__consumer_offsets`.

    `expire_timestamp_ms` is set only if the client asked for a retention of its own (OffsetCommit
    versions 2-4).
    """

    __slots__ = (
        "commit_timestamp_ms",
        "expire_timestamp_ms",
        "leader_epoch",
        "metadata",
        "offset",
        "record_offset",
        "topic_id",
    )

    def __init__(
        self,
        offset: int,
        leader_epoch: int,
        metadata: str,
        commit_timestamp_ms: int,
        expire_timestamp_ms: int = NO_TIMESTAMP,
        topic_id: UUID = NO_TOPIC_ID,
        record_offset: int = NO_OFFSET,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        self.expire_timestamp_ms = expire_timestamp_ms
        self.topic_id = topic_id
        self.record_offset = record_offset

    def is_of(self, topic_id: UUID) -> bool:
        """False if it was committed for a deleted topic of the same name. An unknown id matches
        any."""
        own = self.topic_id
        # A UUID's `==` is Python's own, and slow.
        return own is topic_id or not topic_id.int or not own.int or own.int == topic_id.int


class OffsetTable:
    """Offsets of all groups of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._by_group: dict[str, TopicOffsets] = {}
        self._pending: dict[int, dict[str, TopicOffsets]] = {}
        """By producer id, then group."""
        self._pending_by_group: dict[str, dict[str, dict[int, PartitionOffsets]]] = {}
        """The same offsets by group, then topic, then producer id."""

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
            self.forget(group_id, topic, (partition,))
        else:
            self.of_topic(group_id, topic, producer_id)[partition] = committed

    def of_topic(
        self, group_id: str, topic: str, producer_id: int = NO_PRODUCER_ID
    ) -> PartitionOffsets:
        """A group's offsets for a topic, to put new ones into: a producer's are pending."""
        if producer_id == NO_PRODUCER_ID:
            return self._by_group.setdefault(group_id, {}).setdefault(topic, {})
        topics = self._pending.setdefault(producer_id, {}).setdefault(group_id, {})
        offsets = topics.get(topic)
        if offsets is None:
            offsets = topics[topic] = {}
            producers = self._pending_by_group.setdefault(group_id, {}).setdefault(topic, {})
            producers[producer_id] = offsets
        return offsets

    def end_transaction(self, producer_id: int, *, committed: bool) -> dict[str, int]:
        """Take in a marker: the producer's pending offsets count from now on, or are dropped.

        Returns how many count from now on, by group.
        """
        counts: dict[str, int] = {}
        for group_id, topics in self._pending.pop(producer_id, {}).items():
            for topic in topics:
                self._forget_producer(producer_id, group_id, topic)
            if not committed:
                continue
            counts[group_id] = sum(map(len, topics.values()))
            for topic, partitions in topics.items():
                current = self._by_group.setdefault(group_id, {}).setdefault(topic, {})
                for partition, pending in partitions.items():
                    other = current.get(partition)
                    if other is None or pending.record_offset > other.record_offset:
                        current[partition] = pending
        return counts

    def of_group(self, group_id: str) -> TopicOffsets:
        """Do not change what this returns."""
        return self._by_group.get(group_id, {})

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_group.get(group_id, {}).get(topic, {}).get(partition)

    def pending_in(self, group_id: str, topic: str) -> Collection[int]:
        """The partitions that an open transaction has committed an offset for: reads must wait.

        Do not change what this returns.
        """
        producers = [*self._producers_of(group_id, topic).values()]
        if len(producers) == 1:
            return producers[0]
        none: set[int] = set()
        return none.union(*producers)

    def has_any(self, group_id: str) -> bool:
        """True if the group has an offset, a pending one included."""
        return any(self.of_group(group_id).values()) or group_id in self._pending_by_group

    def partitions_of(self, group_id: str) -> dict[str, set[int]]:
        """All the group has offsets for, by topic, pending ones included."""
        found = {topic: set(partitions) for topic, partitions in self.of_group(group_id).items()}
        for topic in self._pending_by_group.get(group_id, {}):
            found.setdefault(topic, set()).update(self.pending_in(group_id, topic))
        return found

    def forget(self, group_id: str, topic: str, partitions: Iterable[int]) -> None:
        """Forget offsets of a group for a topic, also what is pending."""
        topics = self._by_group.get(group_id, {})
        committed = topics.get(topic)
        if committed is not None:
            for partition in partitions:
                committed.pop(partition, None)
            if not committed:
                del topics[topic]
            if not topics:
                del self._by_group[group_id]
        for producer_id, pending in [*self._producers_of(group_id, topic).items()]:
            for partition in partitions:
                pending.pop(partition, None)
            if not pending:
                self._forget_pending(producer_id, group_id, topic)

    def forget_group(self, group_id: str) -> None:
        """Forget all that the group has committed, also what is pending."""
        self._by_group.pop(group_id, None)
        for topic, producers in [*self._pending_by_group.get(group_id, {}).items()]:
            for producer_id in [*producers]:
                self._forget_pending(producer_id, group_id, topic)

    def partitions_of_topics(
        self, gone: Mapping[str, UUID]
    ) -> Iterator[list[tuple[str, str, int]]]:
        """(group id, topic, partition) of every offset for these topics, pending ones included.

        They come in parts, which may be empty. Others may change the offsets between two parts.
        """
        for groups in (self._by_group, *self._pending.values()):
            found: list[tuple[str, str, int]] = []
            for number, group_id in enumerate(list(groups)):
                topics = groups.get(group_id, {})
                for topic in topics.keys() & gone.keys():
                    for partition, committed in list(topics[topic].items()):
                        if committed.is_of(gone[topic]):
                            found.append((group_id, topic, partition))
                        if len(found) == _AT_ONCE:
                            yield found
                            found = []
                if number % _AT_ONCE == 0:
                    yield found
                    found = []
            yield found

    def _producers_of(self, group_id: str, topic: str) -> Mapping[int, PartitionOffsets]:
        return self._pending_by_group.get(group_id, {}).get(topic, {})

    def _forget_pending(self, producer_id: int, group_id: str, topic: str) -> None:
        """A producer has no pending offset for a topic any more."""
        groups = self._pending[producer_id]
        del groups[group_id][topic]
        if not groups[group_id]:
            del groups[group_id]
        self._forget_producer(producer_id, group_id, topic)

    def _forget_producer(self, producer_id: int, group_id: str, topic: str) -> None:
        topics = self._pending_by_group[group_id]
        del topics[topic][producer_id]
        if not topics[topic]:
            del topics[topic]
        if not topics:
            del self._pending_by_group[group_id]
