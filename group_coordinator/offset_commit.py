"""What a request commits, on its way into the log and into the table of offsets."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.offset_table import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    NO_TOPIC_ID,
    CommittedOffset,
    OffsetTable,
)
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode


class Committer(NamedTuple):
    """Who commits, as an OffsetCommit says it."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_id_or_member_epoch: int


class PartitionCommit(Protocol):
    """One partition of an OffsetCommit or TxnOffsetCommit."""

    @property
    def partition_index(self) -> int: ...
    @property
    def committed_offset(self) -> int: ...
    @property
    def committed_leader_epoch(self) -> int: ...
    @property
    def committed_metadata(self) -> str | None: ...


class TopicCommit(Protocol):
    """One topic of these."""

    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[PartitionCommit]: ...


class Commit:
    """What a request commits, found out partition by partition, then written at once."""

    __slots__ = ("_committed", "_config", "_expire_ms", "_now_ms", "_topics", "records")

    def __init__(
        self, config: GroupConfig, topics: TopicsView, now_ms: int, retention_ms: int = NO_TIMESTAMP
    ) -> None:
        self._config = config
        self._topics = topics
        self._now_ms = now_ms
        self._expire_ms = NO_TIMESTAMP if retention_ms < 0 else now_ms + retention_ms
        self._committed: list[tuple[str, int, CommittedOffset]] = []
        self.records: list[state_log.StateRecord] = []

    def check(
        self,
        group_id: str,
        topic: str,
        partitions: Sequence[PartitionCommit],
        may_commit: Callable[[UUID, int], ErrorCode] | None = None,
    ) -> Iterator[tuple[int, ErrorCode]]:
        """Each partition's number and the error it will be answered with."""
        count = self._topics.partition_count(topic)
        topic_id = self._topics.topic_id(topic) or NO_TOPIC_ID
        for commit in partitions:
            partition = commit.partition_index
            metadata = commit.committed_metadata or ""
            error_code = ErrorCode.NONE
            if not 0 <= partition < count:
                error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) > self._config.offset_metadata_max_bytes:
                error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            elif may_commit is not None:
                error_code = may_commit(topic_id, partition)
            if error_code is ErrorCode.NONE:
                committed = CommittedOffset(
                    commit.committed_offset,
                    commit.committed_leader_epoch,
                    metadata,
                    self._now_ms,
                    self._expire_ms,
                    topic_id,
                )
                self._committed.append((topic, partition, committed))
                self.records.append(state_log.offset_commit(group_id, topic, partition, committed))
            yield partition, error_code

    def apply(self, table: OffsetTable, group_id: str, base_offset: int, producer_id: int) -> None:
        """Take in what has been written from `base_offset` on."""
        apply_commits(table, group_id, self._committed, base_offset, producer_id)


def apply_commits(
    table: OffsetTable,
    group_id: str,
    commits: Sequence[tuple[str, int, CommittedOffset]],
    base_offset: int,
    producer_id: int = NO_PRODUCER_ID,
) -> None:
    """Take in offsets by topic and partition that have been written from `base_offset` on."""
    for record_offset, (topic, partition, committed) in enumerate(commits, base_offset):
        committed.record_offset = record_offset
        table.apply(group_id, topic, partition, committed, producer_id)
