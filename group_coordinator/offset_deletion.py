"""Offsets that go: OffsetDelete, deleted groups, and those that have expired.

All that a request deletes is one batch, or nothing of it goes. Very many offsets are looked at, and
their tombstones written, in steps; what was looked at is asked again before they go. Source of the
rules: Kafka's OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Final

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.offset_commit import PartitionOutcome
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest
from kafkalite.wire.record_format import WrittenPairs

ShardOf = Callable[[], Shard]

_AT_ONCE: Final = 128


class OffsetDeletion:
    """Takes offsets out of the table and out of the log."""

    def __init__(self, log: state_log.OffsetLog, topics: TopicsView) -> None:
        self._log = log
        self._topics = topics

    def deleting(
        self, shard_of: ShardOf, request: OffsetDeleteRequest
    ) -> Generator[None, None, list[tuple[str, list[PartitionOutcome]]]]:
        """An OffsetDelete: its topics, each with what became of its partitions.

        Raises KafkaError where it is refused as a whole.
        """
        group_id = request.group_id
        group = _deletable_from(shard_of(), group_id)
        asked: dict[str, dict[int, None]] = {}
        answered: list[tuple[str, list[PartitionOutcome]]] = []
        for number, topic in enumerate(request.topics, start=1):
            count = self._topics.partition_count(topic.name)
            if count and not topic.partitions:
                continue
            subscribed = group.is_subscribed_to(topic.name)
            deleted = asked.setdefault(topic.name, {})
            outcomes: list[PartitionOutcome] = []
            answered.append((topic.name, outcomes))
            for partition in topic.partitions:
                index = partition.partition_index
                if not 0 <= index < count:
                    outcomes.append((index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                elif subscribed:
                    outcomes.append((index, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))
                else:
                    outcomes.append((index, ErrorCode.NONE))
                    deleted[index] = None
                if len(outcomes) % _AT_ONCE == 0:
                    yield
            if number % _AT_ONCE == 0:
                yield
        there = shard_of().offsets.partitions_of(group_id)
        gone = {
            name: there[name] & deleted.keys() for name, deleted in asked.items() if name in there
        }
        tombstones = yield from _tombstones(group_id, gone)
        shard = shard_of()
        group = _deletable_from(shard, group_id)
        if any(indexes and group.is_subscribed_to(name) for name, indexes in gone.items()):
            return (yield from self.deleting(shard_of, request))
        if tombstones.count:
            self._log.append(shard.partition, tombstones)
        for name, indexes in gone.items():
            shard.offsets.forget(group_id, name, indexes)
        return answered

    def deleting_group(self, shard_of: ShardOf, group_id: str) -> Generator[None, None, Group]:
        """Delete a group with all its offsets. Raises KafkaError if it may not be."""
        while True:
            _existing(shard_of(), group_id).validate_delete()
            there = shard_of().offsets.partitions_of(group_id)
            tombstones = yield from _tombstones(group_id, there)
            shard = shard_of()
            group = _existing(shard, group_id)
            group.validate_delete()
            if shard.offsets.partitions_of(group_id) == there:
                self._end(shard, group, tombstones)
                return group

    def end_group(self, shard: Shard, group: Group) -> None:
        """Delete a group that has no offsets."""
        self._end(shard, group, WrittenPairs())

    def _end(self, shard: Shard, group: Group, tombstones: WrittenPairs) -> None:
        for key, value in group.tombstones():
            tombstones.add(key, value)
        self._log.append(shard.partition, tombstones)
        shard.offsets.forget_group(group.group_id)
        del shard.groups[group.group_id]

    def forget(self, shard: Shard, offsets: Sequence[tuple[str, str, int]]) -> None:
        """Delete a few offsets: group id, topic, partition."""
        if offsets:
            records = [state_log.offset_tombstone(*key) for key in offsets]
            self._log.append(shard.partition, records)
        for key in offsets:
            shard.offsets.apply(*key, None)


def _existing(shard: Shard, group_id: str) -> Group:
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    return group


def _deletable_from(shard: Shard, group_id: str) -> Group:
    """The group, offsets of which are to be deleted. Raises KafkaError if they may not be."""
    group = _existing(shard, group_id)
    group.validate_offset_delete()
    return group


def _tombstones(
    group_id: str, gone: Mapping[str, Collection[int]]
) -> Generator[None, None, WrittenPairs]:
    written = WrittenPairs()
    for topic, partitions in gone.items():
        for partition in partitions:
            written.add(*state_log.offset_tombstone(group_id, topic, partition))
            if written.count % _AT_ONCE == 0:
                yield
    return written
