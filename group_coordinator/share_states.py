"""The share state of a share group's partitions, from its side: noted, initialized, deleted.

The share coordinator keeps the state of each partition, and the group notes in its own log for
which topics that is to begin, has begun, or is to end. So it can go on after a restart. A note is
written before the share coordinator is asked, and another one after it has answered.

Source of the rules: Kafka's GroupMetadataManager, GroupCoordinatorService (KIP-932, KIP-1226).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol
from uuid import UUID

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.share_records import StateTopic, StateTopics
from kafkalite.wire.errors import KafkaError

Offsets = Mapping[UUID, Mapping[int, int]]
"""Start offsets by topic and partition; -1 is "not decided yet"."""


class ShareStateKeeper(Protocol):
    """The share coordinator, as the group coordinator sees it. All raise KafkaError."""

    def initialize_state(
        self, group_id: str, topic_id: UUID, partition: int, state_epoch: int, start_offset: int
    ) -> None: ...

    def delete_state(self, group_id: str, topic_id: UUID, partition: int) -> None: ...

    def describe_state(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int]:
        """Start offset and delivery complete count (-1: there is none), leader epoch."""
        ...

    def latest_offset(self, topic_id: UUID, partition: int) -> int:
        """The offset of the next record of the partition."""
        ...


class ShareStates:
    """The states of all share groups of a coordinator, over the `keeper` of the states."""

    def __init__(self, services: GroupServices, keeper: ShareStateKeeper) -> None:
        self._services = services
        self._topics = services.topics
        self.keeper = keeper
        self.now_ms = services.now_ms

    def changes(self, group: ShareGroup) -> Changes[ShareGroup]:
        """Changes of a request that begins now."""
        return Changes(group, now_ms=self.now_ms())

    def commit(self, changes: Changes[ShareGroup]) -> None:
        """Write the changes. Raises KafkaError."""
        changes.save(self._services.save)

    # Initializing

    def note_missing(self, changes: Changes[ShareGroup]) -> Offsets:
        """Note the subscribed partitions that have no state yet, unless that is under way.

        Returns the partitions to `initialize` once the note is written.
        """
        group = changes.group
        now_ms = self.now_ms()
        retry_ms = self._services.config.group_share_initialize_retry_interval_ms
        wanted: dict[UUID, StateTopic] = {}
        for name in group.subscribed_topics:
            topic_id = self._topics.topic_id(name)
            if topic_id is None:
                continue
            known = _partitions(group.initialized, topic_id)
            under_way = group.initializing.get(topic_id)
            if under_way is not None and now_ms - under_way.since_ms < retry_ms:
                known |= under_way.partitions
            missing = frozenset(range(self._topics.partition_count(name))) - known
            if missing:
                wanted[topic_id] = StateTopic(name, missing, now_ms)
        if wanted:
            self.note(changes, wanted)
        return {
            topic_id: dict.fromkeys(sorted(topic.partitions), -1)
            for topic_id, topic in wanted.items()
        }

    def note(self, changes: Changes[ShareGroup], topics: StateTopics) -> None:
        """Note partitions that are to be initialized. Their topics are not being deleted then."""
        group = changes.group
        deleting = {
            topic_id: name for topic_id, name in group.deleting.items() if topic_id not in topics
        }
        initializing = joined(group.initializing, topics)
        changes.add(
            share_records.state_topics(group.group_id, initializing, group.initialized, deleting)
        )

    def initialize(self, group: ShareGroup, offsets: Offsets) -> dict[tuple[UUID, int], KafkaError]:
        """Have the share coordinator begin the state of these partitions. Returns refusals by
        partition.

        They are ready only if none is refused.
        """
        refused: dict[tuple[UUID, int], KafkaError] = {}
        for topic_id, partitions in offsets.items():
            for partition, start_offset in partitions.items():
                try:
                    self.keeper.initialize_state(
                        group.group_id, topic_id, partition, group.epoch, start_offset
                    )
                except KafkaError as error:
                    refused[topic_id, partition] = error
        changes = self.changes(group)
        initialized = group.initialized
        if not refused:
            now_ms = self.now_ms()
            done = {
                topic_id: StateTopic(
                    self._topics.topic_name(topic_id) or "<UNKNOWN>", frozenset(partitions), now_ms
                )
                for topic_id, partitions in offsets.items()
            }
            initialized = joined(initialized, done)
        initializing = {
            topic_id: topic._replace(partitions=left)
            for topic_id, topic in group.initializing.items()
            if (left := topic.partitions - offsets.get(topic_id, {}).keys())
        }
        changes.add(
            share_records.state_topics(group.group_id, initializing, initialized, group.deleting)
        )
        self.commit(changes)
        return refused

    # Deleting

    def topics_deleted(self, group: ShareGroup, topic_ids: Collection[UUID]) -> None:
        """Forget topics that are gone: their state is of no use any more."""
        known = {*group.initializing, *group.initialized, *group.deleting}
        if known.isdisjoint(topic_ids):
            return
        changes = self.changes(group)
        changes.add(
            share_records.state_topics(
                group.group_id,
                {t: v for t, v in group.initializing.items() if t not in topic_ids},
                {t: v for t, v in group.initialized.items() if t not in topic_ids},
                {t: v for t, v in group.deleting.items() if t not in topic_ids},
            )
        )
        self.commit(changes)

    def delete_all(self, group: ShareGroup) -> None:
        """Before a group is deleted: the state of its partitions goes. Raises KafkaError."""
        if not group.has_state_topics:
            return
        partitions: dict[UUID, set[int]] = {}
        names: dict[UUID, str] = {}
        for topics in (group.initialized, group.initializing):
            for topic_id, topic in topics.items():
                names[topic_id] = topic.name
                partitions.setdefault(topic_id, set()).update(topic.partitions)
        for topic_id in group.deleting:
            name = self._topics.topic_name(topic_id)
            if name is not None:
                names[topic_id] = name
                count = self._topics.partition_count(name)
                partitions.setdefault(topic_id, set()).update(range(count))
        changes = self.changes(group)
        changes.add(share_records.state_topics(group.group_id, {}, {}, names))
        self.commit(changes)
        failed: KafkaError | None = None
        for topic_id, indexes in partitions.items():
            for index in sorted(indexes):
                try:
                    self.keeper.delete_state(group.group_id, topic_id, index)
                except KafkaError as error:
                    failed = error
        if failed is not None:
            raise failed

    def partitions_to_delete(self, group: ShareGroup, topic_id: UUID) -> Collection[int] | None:
        """The partitions of a topic that have a state, or whose deletion was begun; else None."""
        if topic_id in group.initialized:
            return sorted(group.initialized[topic_id].partitions)
        if topic_id in group.deleting:
            return range(self._topics.partition_count(group.deleting[topic_id]))
        return None

    def delete(
        self, group: ShareGroup, topics: Mapping[UUID, tuple[str, Collection[int]]]
    ) -> dict[UUID, KafkaError]:
        """Delete the state of topics, which are given with their name and partitions.

        Returns the errors of the topics that could not be deleted: they stay noted.
        """
        self._note_deleting(
            group,
            {t: v for t, v in group.initialized.items() if t not in topics},
            {**group.deleting, **{t: name for t, (name, _) in topics.items()}},
        )
        failed: dict[UUID, KafkaError] = {}
        for topic_id, (_, indexes) in topics.items():
            try:
                for index in indexes:
                    self.keeper.delete_state(group.group_id, topic_id, index)
            except KafkaError as error:
                failed[topic_id] = error
        deleted = topics.keys() - failed.keys()
        if deleted:
            left = {t: name for t, name in group.deleting.items() if t not in deleted}
            self._note_deleting(group, group.initialized, left)
        return failed

    def _note_deleting(
        self, group: ShareGroup, initialized: StateTopics, deleting: Mapping[UUID, str]
    ) -> None:
        changes = self.changes(group)
        changes.add(
            share_records.state_topics(group.group_id, group.initializing, initialized, deleting)
        )
        self.commit(changes)


def joined(left: StateTopics, right: StateTopics) -> dict[UUID, StateTopic]:
    """The partitions of both."""
    both: dict[UUID, StateTopic] = dict(left)
    for topic_id, topic in right.items():
        partitions = topic.partitions | _partitions(left, topic_id)
        both[topic_id] = StateTopic(topic.name, partitions, topic.since_ms)
    return both


def _partitions(topics: StateTopics, topic_id: UUID) -> frozenset[int]:
    topic = topics.get(topic_id)
    return frozenset() if topic is None else topic.partitions
