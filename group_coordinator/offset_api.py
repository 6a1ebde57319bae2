"""OffsetCommit, OffsetFetch and the sweep, on one partition's offsets.

Commits come often: what they do is per partition one table entry and one record, and the records of
a request are one batch. Source of the rules: Kafka's OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.offset_checks import CheckCommitted
from kafkalite.group_coordinator.offset_commit import Commit, Committer, PartitionOutcome
from kafkalite.group_coordinator.offset_deletion import OffsetDeletion
from kafkalite.group_coordinator.offset_table import (
    NO_EPOCH,
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    NO_TOPIC_ID,
    CommittedOffset,
    TopicOffsets,
)
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroupRow,
    OffsetFetchRequestTopicsRow,
    OffsetFetchResponsePartitionsRow,
    OffsetFetchResponseTopicsRow,
)

ShardOf = Callable[[], Shard]
CommittedTopic = tuple[Any, ...]
"""A topic of a request, as a row: its name first, its partitions last."""

Outcomes = Generator[None, None, list[Any]]
"""The topics of a response, as rows: as in the request, with the outcomes of their partitions."""

# More partitions than this are checked one part after the other.
CHECKED_AT_ONCE: Final = 128
_OFFSETS_OF_A_STEP: Final = 256

GROUP_ID_NOT_FOUND_SINCE: Final = 9  # OffsetCommit: which error says that there is no such group


class OffsetRequests:
    """The requests, on a shard. KafkaError where a request is refused as a whole."""

    def __init__(
        self,
        services: GroupServices,
        log: state_log.OffsetLog,
        classic: ClassicProtocol,
        deletion: OffsetDeletion,
    ) -> None:
        self._config = services.config
        self._log = log
        self._topics = services.topics
        self._now_ms = services.now_ms
        self._classic = classic
        self._deletion = deletion
        self._happenings = services.happenings

    def commit(
        self,
        shard: Shard,
        committer: Committer,
        topics: Sequence[CommittedTopic],
        api_version: int,
        retention_ms: int,
    ) -> list[Any]:
        """An OffsetCommit: its topics, as rows with what became of each partition."""
        commit = Commit(self._config, self._topics, self._now_ms(), retention_ms)
        is_any_there = self._is_any_there(topics)
        check_committed = self._check(shard, committer, api_version) if is_any_there else None
        group_id = committer.group_id
        answered = [
            (*topic[:-1], commit.check(group_id, topic[0], topic[-1], check_committed))
            for topic in topics
        ]
        if is_any_there:
            self._write(shard, group_id, commit)
        return answered

    def committing(
        self,
        shard_of: ShardOf,
        committer: Committer,
        topics: Sequence[CommittedTopic],
        api_version: int,
        retention_ms: int = NO_TIMESTAMP,
        producer: tuple[int, int] | None = None,
    ) -> Outcomes:
        """`commit` for very many partitions, or a TxnOffsetCommit of a producer's id and epoch.

        Yields between many partitions. Whether the member may commit is asked before and after.
        """
        shard, is_transactional = shard_of(), producer is not None
        commit = Commit(
            self._config,
            self._topics,
            self._now_ms(),
            retention_ms,
            is_transactional=is_transactional,
        )
        is_any_there = False
        for start in range(0, len(topics), CHECKED_AT_ONCE):
            if is_any_there := self._is_any_there(topics[start : start + CHECKED_AT_ONCE]):
                break
            if len(topics) > CHECKED_AT_ONCE:
                yield
        check_committed = None
        if is_any_there:
            check_committed = self._check(shard, committer, api_version, is_transactional)
        answered: list[Any] = []
        count = 0
        for topic in topics:
            name, partitions = topic[0], topic[-1]
            rows: list[PartitionOutcome] = []
            answered.append((*topic[:-1], rows))
            for start in range(0, len(partitions), CHECKED_AT_ONCE):
                some = partitions[start : start + CHECKED_AT_ONCE]
                rows += commit.check(committer.group_id, name, some, check_committed)
                count += len(some)
                if count > CHECKED_AT_ONCE:
                    yield
        if is_any_there:
            if count > CHECKED_AT_ONCE:
                shard = shard_of()
                self._check(shard, committer, api_version, is_transactional)
            self._write(shard, committer.group_id, commit, *(producer or ()))
        return answered

    def _check(
        self,
        shard: Shard,
        committer: Committer,
        api_version: int,
        is_transactional: bool = False,
    ) -> CheckCommitted | None:
        """Check that a member may commit; the check of each partition. Raises KafkaError."""
        group_id, member_id, instance_id, generation = committer
        group = shard.groups.get(group_id)
        if group is None:
            if generation < 0:
                return None
            is_old = is_transactional or api_version < GROUP_ID_NOT_FOUND_SINCE
            unknown = ErrorCode.ILLEGAL_GENERATION if is_old else ErrorCode.GROUP_ID_NOT_FOUND
            raise KafkaError(unknown)
        check_committed = group.validate_offset_commit(
            member_id,
            instance_id,
            generation,
            is_transactional=is_transactional,
            api_version=api_version,
        )
        if not is_transactional and isinstance(group, ClassicGroup):
            self._classic.heard_of(group, member_id)
        return check_committed

    def _is_any_there(self, topics: Sequence[CommittedTopic]) -> bool:
        """True if any partition exists. If none does, Kafka does not ask the coordinator."""
        for topic in topics:
            count = self._topics.partition_count(topic[0])
            for partition, _, _, _ in topic[-1] if count else ():
                if 0 <= partition < count:
                    return True
        return False

    def _write(
        self,
        shard: Shard,
        group_id: str,
        commit: Commit,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_EPOCH,
    ) -> None:
        """The records, and the group if it is new: one whose offsets could not be kept, too."""
        base_offset = self._log.end_offset(shard.partition)
        if commit.records.count:
            base_offset = self._log.append(
                shard.partition,
                commit.records,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
            )
        if group_id not in shard.groups:
            shard.groups[group_id] = self._classic.simple_group(group_id, base_offset)
        commit.apply(shard.offsets, group_id, base_offset, producer_id)
        if self._happenings.committed is not None and producer_id == NO_PRODUCER_ID:
            self._happenings.committed(group_id, commit.records.count)

    def fetch(
        self, shard: Shard, request: OffsetFetchRequestGroupRow, *, require_stable: bool
    ) -> Sequence[OffsetFetchResponseTopicsRow]:
        """The offsets asked for. An unknown group has none, which is not an error."""
        group_id, member_id, member_epoch, wanted = request
        group = shard.groups.get(group_id)
        committed: TopicOffsets = {}
        if group is not None:
            group.validate_offset_fetch(member_id, member_epoch)
            committed = shard.offsets.of_group(group_id)
        answered: list[OffsetFetchResponseTopicsRow] = []
        for topic in self._all_of(committed) if wanted is None else wanted:
            name, topic_id, _ = topic
            pending = shard.offsets.pending_in(group_id, name) if require_stable else ()
            answered.append((name, topic_id, fetch_topic(committed, pending, topic)))
        return answered

    def _all_of(self, committed: TopicOffsets) -> Iterator[OffsetFetchRequestTopicsRow]:
        for topic, partitions in committed.items():
            yield topic, self._topics.topic_id(topic) or NO_TOPIC_ID, list(partitions)

    def forget_topics(self, shard: Shard, gone: Mapping[str, UUID]) -> Iterator[None]:
        """Delete all groups' offsets for topics that are gone, a few in each step."""
        for some in shard.offsets.partitions_of_topics(gone):
            self._deletion.forget(shard, some)
            yield

    def expiries(
        self, shard: Shard, group_id: str, group: OffsetRetention
    ) -> Iterator[OffsetExpiry]:
        """The times from which the offsets of a group may go; those that stay have none."""
        for topic, partitions in shard.offsets.of_group(group_id).items():
            yield from self._expiries_in(shard, group_id, group, topic, partitions)

    def _expiries_in(
        self,
        shard: Shard,
        group_id: str,
        group: OffsetRetention,
        topic: str,
        partitions: Mapping[int, CommittedOffset],
    ) -> Iterator[OffsetExpiry]:
        if group.is_subscribed_to(topic):
            return
        pending = shard.offsets.pending_in(group_id, topic)
        for partition, committed in partitions.items():
            since = group.offsets_expire_from(committed.commit_timestamp_ms)
            if since is None or partition in pending:
                continue
            at_ms = committed.expire_timestamp_ms
            if at_ms == NO_TIMESTAMP:
                at_ms = since + self._config.offsets_retention_ms
            yield OffsetExpiry(at_ms, group_id, topic, partition)

    def expire(self, shard: Shard) -> Iterator[tuple[int, Group | None]]:
        """Delete offsets unused for the retention time, a few in each step.

        Yields the number of offsets that were looked at, and the group that is gone with them, if
        any. A group goes when it has neither members nor offsets. Others may change the shard
        between two steps.
        """
        for group_id, group in list(shard.groups.items()):
            for topic, partitions in list(shard.offsets.of_group(group_id).items()):
                every_one = list(partitions)
                for start in range(0, len(every_one), _OFFSETS_OF_A_STEP):
                    if shard.groups.get(group_id) is not group:
                        break
                    some = every_one[start : start + _OFFSETS_OF_A_STEP]
                    self._expire_some(shard, group_id, group, topic, some)
                    yield len(some), None
            if group.group_type == "share" or shard.groups.get(group_id) is not group:
                yield 0, None  # its offsets are elsewhere, and stay; or the group has gone
            elif group.is_empty and not shard.offsets.has_any(group_id):
                self._deletion.end_group(shard, group)
                yield 0, group
            else:
                yield 0, None

    def _expire_some(
        self, shard: Shard, group_id: str, group: Group, topic: str, partitions: Sequence[int]
    ) -> None:
        now_ms = self._now_ms()
        committed = shard.offsets.of_group(group_id).get(topic, {})
        of_these = {each: committed[each] for each in partitions if each in committed}
        over = [
            (group_id, each.topic, each.partition)
            for each in self._expiries_in(shard, group_id, group, topic, of_these)
            if now_ms >= each.at_ms
        ]
        self._deletion.forget(shard, over)


def fetch_topic(
    by_topic: TopicOffsets, pending: Collection[int], wanted: OffsetFetchRequestTopicsRow
) -> list[OffsetFetchResponsePartitionsRow]:
    """The offsets of one topic; -1 where there is none, or where one is `pending`."""
    name, topic_id, partitions = wanted
    of_topic = by_topic.get(name, {})
    rows: list[OffsetFetchResponsePartitionsRow] = []
    for partition in partitions:
        committed = of_topic.get(partition)
        if pending and partition in pending:
            code = ErrorCode.UNSTABLE_OFFSET_COMMIT
            rows.append((partition, NO_OFFSET, NO_EPOCH, "", code))
        elif committed is None or not committed.is_of(topic_id):
            rows.append((partition, NO_OFFSET, NO_EPOCH, "", 0))
        else:
            offset, epoch = committed.offset, committed.leader_epoch
            rows.append((partition, offset, epoch, committed.metadata, 0))
    return rows


class OffsetExpiry(NamedTuple):
    """The time in ms since the epoch from which a committed offset may go."""

    at_ms: int
    group_id: str
    topic: str
    partition: int


class OffsetRetention(Protocol):
    """A group, as far as the age of its offsets goes."""

    def is_subscribed_to(self, topic: str) -> bool: ...
    def offsets_expire_from(self, committed_at_ms: int) -> int | None: ...
