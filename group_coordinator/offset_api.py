"""OffsetCommit, OffsetFetch, OffsetDelete and the sweep, on one partition's offsets.

Commits come often: what they do is per partition one table entry and one record, and the records of
a request are one batch. Source of the rules: Kafka's OffsetMetadataManager.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from uuid import UUID

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.offset_commit import Commit, Committer, TopicCommit, apply_commits
from kafkalite.group_coordinator.offset_table import (
    NO_EPOCH,
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_TOPIC_ID,
    CommittedOffset,
    OffsetTable,
)
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

GROUP_ID_NOT_FOUND_SINCE = 9  # OffsetCommit: which error says that there is no such group


class OffsetRequests:
    """The requests, on a shard. KafkaError where a request is refused as a whole."""

    def __init__(
        self,
        config: GroupConfig,
        log: state_log.OffsetLog,
        topics: TopicsView,
        now_ms: Callable[[], int],
        classic: ClassicProtocol,
    ) -> None:
        self._config = config
        self._log = log
        self._topics = topics
        self._now_ms = now_ms
        self._classic = classic

    def commit(
        self, shard: Shard, request: OffsetCommitRequest, api_version: int
    ) -> OffsetCommitResponse:
        may_commit = None
        if is_any_there := self._is_any_there(request.topics):
            group = shard.groups.get(request.group_id)
            if group is None and request.generation_id_or_member_epoch >= 0:
                raise KafkaError(
                    ErrorCode.GROUP_ID_NOT_FOUND
                    if api_version >= GROUP_ID_NOT_FOUND_SINCE
                    else ErrorCode.ILLEGAL_GENERATION
                )
            if group is not None:
                may_commit = group.validate_offset_commit(
                    request.member_id,
                    request.group_instance_id,
                    request.generation_id_or_member_epoch,
                    is_transactional=False,
                    api_version=api_version,
                )
            if isinstance(group, ClassicGroup):
                self._classic.heard_of(group, request.member_id)
        commit = Commit(self._config, self._topics, self._now_ms(), request.retention_time_ms)
        response = OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        OffsetCommitResponsePartition(
                            partition_index=partition, error_code=error_code
                        )
                        for partition, error_code in commit.check(
                            request.group_id, topic.name, topic.partitions, may_commit
                        )
                    ],
                )
                for topic in request.topics
            ]
        )
        if is_any_there:
            self._write(shard, request.group_id, commit)
        return response

    def commit_plainly(
        self,
        shard: Shard,
        committer: Committer,
        api_version: int,
        commits: Sequence[tuple[str, int, CommittedOffset]],
    ) -> bool:
        """Commit for partitions that are there, if there is nothing to say to it; else nothing is done.

        Each is a topic, a partition and its offset, at least one. False, or KafkaError: `commit` says
        what is wrong.
        """
        group_id = committer.group_id
        group = shard.groups.get(group_id)
        if group is None:
            return False
        may_commit = group.validate_offset_commit(
            committer.member_id,
            committer.group_instance_id,
            committer.generation_id_or_member_epoch,
            is_transactional=False,
            api_version=api_version,
        )
        if may_commit is not None:
            return False
        records = [state_log.offset_commit(group_id, *each) for each in commits]
        base_offset = self._log.append(shard.partition, records)
        if isinstance(group, ClassicGroup):
            self._classic.heard_of(group, committer.member_id)
        apply_commits(shard.offsets, group_id, commits, base_offset)
        return True

    def txn_commit(
        self, shard: Shard, request: TxnOffsetCommitRequest, api_version: int
    ) -> TxnOffsetCommitResponse:
        may_commit = None
        if is_any_there := self._is_any_there(request.topics):
            group = shard.groups.get(request.group_id)
            if group is None and request.generation_id >= 0:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
            if group is not None:
                may_commit = group.validate_offset_commit(
                    request.member_id,
                    request.group_instance_id,
                    request.generation_id,
                    is_transactional=True,
                    api_version=api_version,
                )
        commit = Commit(self._config, self._topics, self._now_ms())
        response = TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(
                            partition_index=partition, error_code=error_code
                        )
                        for partition, error_code in commit.check(
                            request.group_id, topic.name, topic.partitions, may_commit
                        )
                    ],
                )
                for topic in request.topics
            ]
        )
        if is_any_there:
            who = request.producer_id, request.producer_epoch
            self._write(shard, request.group_id, commit, *who)
        return response

    def _is_any_there(self, topics: Iterable[TopicCommit]) -> bool:
        """Whether any partition is: for none of them, Kafka does not ask the coordinator at all."""
        return any(
            0 <= partition.partition_index < self._topics.partition_count(topic.name)
            for topic in topics
            for partition in topic.partitions
        )

    def _write(
        self,
        shard: Shard,
        group_id: str,
        commit: Commit,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = -1,
    ) -> None:
        """The records, and the group if it is new: one whose offsets could not be kept, too."""
        base_offset = self._log.end_offset(shard.partition)
        if commit.records:
            base_offset = self._log.append(
                shard.partition,
                commit.records,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
            )
        if group_id not in shard.groups:
            shard.groups[group_id] = self._classic.simple_group(group_id, base_offset)
        commit.apply(shard.offsets, group_id, base_offset, producer_id)

    def fetch(
        self, shard: Shard, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """An unknown group has no offsets, which is not an error."""
        group = shard.groups.get(request.group_id)
        if group is not None:
            group.validate_offset_fetch(request.member_id, request.member_epoch)
        if request.topics is None:
            topics = self._fetch_all(shard.offsets, request.group_id, require_stable)
        else:
            topics = fetch_some(
                shard.offsets, request.group_id, request.topics, require_stable=require_stable
            )
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)

    def _fetch_all(
        self, table: OffsetTable, group_id: str, require_stable: bool
    ) -> list[OffsetFetchResponseTopics]:
        return [
            OffsetFetchResponseTopics(
                name=topic,
                topic_id=self._topics.topic_id(topic) or NO_TOPIC_ID,
                partitions=[
                    fetched(
                        partition,
                        committed,
                        unstable=require_stable and table.is_pending(group_id, topic, partition),
                    )
                    for partition, committed in partitions.items()
                ],
            )
            for topic, partitions in table.of_group(group_id).items()
        ]

    def delete(self, shard: Shard, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        group = shard.groups.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        group.validate_offset_delete()
        there = set(shard.offsets.partitions_of(request.group_id))
        gone: list[tuple[str, int]] = []
        response = OffsetDeleteResponse()
        for topic in request.topics:
            count = self._topics.partition_count(topic.name)
            subscribed = group.is_subscribed_to(topic.name)
            if count and not topic.partitions:
                continue
            answer = OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(answer)
            for partition in (p.partition_index for p in topic.partitions):
                error_code = ErrorCode.NONE
                if not 0 <= partition < count:
                    error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif subscribed:
                    error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                elif (topic.name, partition) in there:
                    gone.append((topic.name, partition))
                answer.partitions.append(
                    OffsetDeleteResponsePartition(partition_index=partition, error_code=error_code)
                )
        self._forget(shard, [(request.group_id, *key) for key in gone])
        return response

    def forget_group(self, shard: Shard, group: Group) -> None:
        """Delete a group with all its offsets."""
        offsets = list(shard.offsets.partitions_of(group.group_id))
        self._forget(shard, [(group.group_id, *key) for key in offsets], group.tombstones())
        del shard.groups[group.group_id]

    def forget_topic(self, shard: Shard, topic: str, topic_id: UUID) -> None:
        """Delete all groups' offsets for a topic that is gone."""
        found = list(shard.offsets.partitions_of_topic(topic, topic_id))
        self._forget(shard, [(group_id, topic, partition) for group_id, partition in found])

    def expire(self, shard: Shard) -> list[Group]:
        """Delete what nobody has needed for the retention time; the groups that are gone with it.

        A group goes when it has neither members nor offsets."""
        now_ms, retention_ms = self._now_ms(), self._config.offsets_retention_ms
        gone: list[Group] = []
        for group_id, group in list(shard.groups.items()):
            over = expired(shard.offsets, group_id, group, now_ms, retention_ms)
            self._forget(shard, [(group_id, *key) for key in over])
            if group.group_type == "share":
                continue  # its offsets are elsewhere, and stay
            if group.is_empty and not any(True for _ in shard.offsets.partitions_of(group_id)):
                self.forget_group(shard, group)
                gone.append(group)
        return gone

    def _forget(
        self,
        shard: Shard,
        offsets: Sequence[tuple[str, str, int]],
        further: Sequence[state_log.StateRecord] = (),
    ) -> None:
        records = [state_log.offset_tombstone(*key) for key in offsets]
        records.extend(further)
        if records:
            self._log.append(shard.partition, records)
        for key in offsets:
            shard.offsets.apply(*key, None)


def fetch_some(
    table: OffsetTable,
    group_id: str,
    wanted: Iterable[OffsetFetchRequestTopics],
    *,
    require_stable: bool,
) -> list[OffsetFetchResponseTopics]:
    """The offsets asked for; -1 where there is none."""
    offsets = table.of_group(group_id)
    responses: list[OffsetFetchResponseTopics] = []
    for topic in wanted:
        of_topic = offsets.get(topic.name, {})
        partitions: list[OffsetFetchResponsePartitions] = []
        for partition in topic.partition_indexes:
            committed = of_topic.get(partition)
            if committed is not None and not committed.is_of(topic.topic_id):
                committed = None
            unstable = require_stable and table.is_pending(group_id, topic.name, partition)
            partitions.append(fetched(partition, committed, unstable=unstable))
        responses.append(
            OffsetFetchResponseTopics(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
        )
    return responses


def fetched(
    partition: int, committed: CommittedOffset | None, *, unstable: bool
) -> OffsetFetchResponsePartitions:
    if unstable:
        return OffsetFetchResponsePartitions(
            partition_index=partition,
            committed_offset=NO_OFFSET,
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
        )
    if committed is None:
        return OffsetFetchResponsePartitions(
            partition_index=partition, committed_offset=NO_OFFSET, committed_leader_epoch=NO_EPOCH
        )
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


class OffsetRetention(Protocol):
    """A group, as far as the age of its offsets goes."""

    def is_subscribed_to(self, topic: str) -> bool: ...
    def offsets_expire_from(self, committed_at_ms: int) -> int | None: ...


def expired(
    table: OffsetTable, group_id: str, group: OffsetRetention, now_ms: int, retention_ms: int
) -> list[tuple[str, int]]:
    """Topic and partition of the offsets whose time is over."""
    found: list[tuple[str, int]] = []
    for topic, partitions in table.of_group(group_id).items():
        if group.is_subscribed_to(topic):
            continue
        for partition, committed in partitions.items():
            since = group.offsets_expire_from(committed.commit_timestamp_ms)
            if since is None or table.is_pending(group_id, topic, partition):
                continue
            if committed.expire_timestamp_ms >= 0:
                over = now_ms >= committed.expire_timestamp_ms
            else:
                over = now_ms - since >= retention_ms
            if over:
                found.append((topic, partition))
    return found


def commit_refused(
    request: OffsetCommitRequest, error_code: ErrorCode, topics: TopicsView
) -> OffsetCommitResponse:
    """The same error for each partition that is there: what is not, Kafka finds out before."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=error_code
                        if 0 <= partition.partition_index < topics.partition_count(topic.name)
                        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def txn_commit_refused(
    request: TxnOffsetCommitRequest, error_code: ErrorCode, topics: TopicsView
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=error_code
                        if 0 <= partition.partition_index < topics.partition_count(topic.name)
                        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
