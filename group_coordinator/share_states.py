"""The share state of a share group's partitions, from its side: noted, initialized, deleted.

The share coordinator keeps the state of each partition, and the group notes in its own log for
which topics that is to begin, has begun, or is to end. So it can go on after a restart. A note is
written before the share coordinator is asked, and another one after it has answered.

Source of the rules: Kafka's GroupMetadataManager, GroupCoordinatorService (KIP-932, KIP-1226).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from uuid import UUID

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.large_groups import TRIES
from kafkalite.group_coordinator.rehearsal import Rehearsal
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.share_keeper import (
    AT_ONCE,
    Offsets,
    Refusals,
    ShareStateKeeper,
    count_of,
)
from kafkalite.group_coordinator.share_records import StateTopic, StateTopics
from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logger_of(__name__)


class ShareStates:
    """The states of all share groups of a coordinator, over the `keeper` of the states.

    `is_here(group)` tells whether a group is still coordinated here, and not loaded anew: asking
    the keeper may take a while.
    """

    def __init__(
        self,
        services: GroupServices,
        keeper: ShareStateKeeper,
        is_here: Callable[[ShareGroup], bool],
    ) -> None:
        self._services = services
        self._is_here = is_here
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

    def initialize_soon(self, group: ShareGroup, offsets: Offsets) -> None:
        """The same as `initialize`. An error is logged: the next heartbeats try again."""
        work = partial(self._initialize_and_say, group, offsets)
        self.keeper.soon(work, count_of(offsets))

    async def _initialize_and_say(self, group: ShareGroup, offsets: Offsets) -> None:
        try:
            refused = await self.initialize(group, offsets, is_given_up=True)
            # They may be many, and what is wrong is the same with most of them.
            for message, count in Counter(map(str, refused.values())).items():
                _logger.warning(
                    "group %s: no share state for %d partition(s): %s",
                    group.group_id,
                    count,
                    message,
                )
        except KafkaError as error:
            _logger.warning(
                "group %s: not stored that its share states are initialized: %s",
                group.group_id,
                error,
            )

    async def initialize(
        self, group: ShareGroup, offsets: Offsets, *, is_given_up: bool
    ) -> Refusals:
        """Have the share coordinator begin the state of these partitions. Returns refusals by
        partition.

        They are ready only if none is refused. Else they are no longer noted as being begun if that
        is given up. Raises KafkaError if that cannot be noted.
        """
        refused = await self.keeper.initialize_states(group.group_id, group.epoch, offsets)
        if refused and not is_given_up:
            return refused
        self._check_here(group)
        note = partial(self._note_initialized, offsets=offsets, is_done=not refused)
        await self._write(group, note, count_of(offsets))
        return refused

    async def begin(
        self, group: ShareGroup, topics: StateTopics, check: Callable[[], None]
    ) -> None:
        """Note partitions that are to be initialized. Raises KafkaError, also that of `check`: it
        is asked again after others had their turn."""
        count = sum(1 + len(topic.partitions) for topic in topics.values())
        await self._write(group, partial(self.note, topics=topics), count, check)

    async def _write(
        self,
        group: ShareGroup,
        note: Callable[[Changes[ShareGroup]], None],
        count: int,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Write what `note` notes of so many partitions or topics. Raises KafkaError."""
        if count > AT_ONCE:
            check = check or partial(self._check_here, group)
            changes = await self._noted_by_thread(group, note, check)
        else:
            changes = self.changes(group)
            note(changes)
        self.commit(changes)

    async def _noted_by_thread(
        self,
        group: ShareGroup,
        note: Callable[[Changes[ShareGroup]], None],
        check: Callable[[], None],
    ) -> Changes[ShareGroup]:
        """The changes, worked out while others have their turn. Raises KafkaError."""
        for _ in range(TRIES):
            rehearsal = Rehearsal(group, self.now_ms(), note)
            await self.keeper.by_thread(rehearsal.run)
            check()
            if rehearsal.is_current:
                changes, _ = rehearsal.taken_over()
                return changes
        changes = self.changes(group)
        note(changes)
        return changes

    def _note_initialized(
        self, changes: Changes[ShareGroup], offsets: Offsets, *, is_done: bool
    ) -> None:
        """Their states are no longer being begun; they have begun if `is_done`."""
        group = changes.group
        initialized = group.initialized
        if is_done:
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

    def _check_here(self, group: ShareGroup) -> None:
        if not self._is_here(group):
            raise KafkaError(ErrorCode.NOT_COORDINATOR)

    # Deleting

    def topics_deleted(self, group: ShareGroup, topic_ids: Collection[UUID]) -> None:
        """Forget topics that are gone: their state is of no use any more."""
        known = (group.initializing, group.initialized, group.deleting)
        if any(topic_id in topics for topics in known for topic_id in topic_ids):
            self.keeper.soon(partial(self._forget, group, topic_ids), _topic_count(group))

    async def _forget(self, group: ShareGroup, topic_ids: Collection[UUID]) -> None:
        def note(changes: Changes[ShareGroup]) -> None:
            left = changes.group
            changes.add(
                share_records.state_topics(
                    group.group_id,
                    {t: v for t, v in left.initializing.items() if t not in topic_ids},
                    {t: v for t, v in left.initialized.items() if t not in topic_ids},
                    {t: v for t, v in left.deleting.items() if t not in topic_ids},
                )
            )

        with suppress(KafkaError):  # logged where it was raised
            self._check_here(group)
            await self._write(group, note, _topic_count(group))

    async def delete_all(self, group: ShareGroup) -> None:
        """Before a group is deleted: the state of its partitions goes. Raises KafkaError."""
        if not group.has_state_topics:
            return
        partitions: dict[UUID, Collection[int]] = {}

        def note(changes: Changes[ShareGroup]) -> None:
            partitions.clear()
            names = self._all_with_state(changes.group, partitions)
            changes.add(share_records.state_topics(group.group_id, {}, {}, names))

        await self._write(group, note, _topic_count(group))
        for error in (await self.keeper.delete_states(group.group_id, partitions)).values():
            raise error

    def _all_with_state(
        self, group: ShareGroup, partitions: dict[UUID, Collection[int]]
    ) -> dict[UUID, str]:
        """The names of the topics with a state, or one that is begun or ended; and `partitions`."""
        names: dict[UUID, str] = {}
        for topics in (group.initialized, group.initializing):
            for topic_id, topic in topics.items():
                names[topic_id] = topic.name
                known = partitions.get(topic_id, ())
                partitions[topic_id] = sorted(topic.partitions.union(known))
        for topic_id in group.deleting:
            name = self._topics.topic_name(topic_id)
            if name is not None:
                names[topic_id] = name
                everything = range(self._topics.partition_count(name))
                partitions[topic_id] = sorted({*everything, *partitions.get(topic_id, ())})
        return names

    def partitions_to_delete(self, group: ShareGroup, topic_id: UUID) -> Collection[int] | None:
        """The partitions of a topic that have a state, or whose deletion was begun; else None."""
        if topic_id in group.initialized:
            return sorted(group.initialized[topic_id].partitions)
        if topic_id in group.deleting:
            return range(self._topics.partition_count(group.deleting[topic_id]))
        return None

    async def delete(
        self, group: ShareGroup, topics: Mapping[UUID, tuple[str, Collection[int]]]
    ) -> dict[UUID, KafkaError]:
        """Delete the state of topics, which are given with their name and partitions.

        Returns the errors of the topics that could not be deleted: they stay noted.
        """

        def begun(changes: Changes[ShareGroup]) -> None:
            left = {t: v for t, v in changes.group.initialized.items() if t not in topics}
            names = {**changes.group.deleting, **{t: name for t, (name, _) in topics.items()}}
            self._note_deleting(changes, left, names)

        def ended(changes: Changes[ShareGroup]) -> None:
            left = {t: name for t, name in changes.group.deleting.items() if t not in deleted}
            self._note_deleting(changes, changes.group.initialized, left)

        await self._write(group, begun, _topic_count(group))
        refused = await self.keeper.delete_states(
            group.group_id, {topic_id: indexes for topic_id, (_, indexes) in topics.items()}
        )
        self._check_here(group)
        failed = {topic_id: error for (topic_id, _), error in refused.items()}
        deleted = topics.keys() - failed.keys()
        if deleted:
            await self._write(group, ended, _topic_count(group))
        return failed

    def _note_deleting(
        self, changes: Changes[ShareGroup], initialized: StateTopics, deleting: Mapping[UUID, str]
    ) -> None:
        group = changes.group
        changes.add(
            share_records.state_topics(group.group_id, group.initializing, initialized, deleting)
        )


def _topic_count(group: ShareGroup) -> int:
    return len(group.initializing) + len(group.initialized) + len(group.deleting)


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
