"""Commits on their way into the log and into the table of offsets."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.offset_table import (
    NO_TIMESTAMP,
    NO_TOPIC_ID,
    CommittedOffset,
    OffsetTable,
)
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode


class Committer(NamedTuple):
    """The committer that an OffsetCommit or a TxnOffsetCommit names."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_id_or_member_epoch: int


PartitionCommit = tuple[int, int, int, str | None]
"""One partition of an OffsetCommit or TxnOffsetCommit, as a row: index, offset, leader epoch,
metadata."""

PartitionOutcome = tuple[int, int]
"""Index of a partition, and its error code."""


class Commit:
    """The commits of a request, checked partition by partition, then written at once."""

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
    ) -> list[PartitionOutcome]:
        """Each partition with the error it will be answered with."""
        outcomes: list[PartitionOutcome] = []
        count = self._topics.partition_count(topic)
        topic_id = self._topics.topic_id(topic) or NO_TOPIC_ID
        longest_metadata = self._config.offset_metadata_max_bytes
        for partition, offset, leader_epoch, metadata in partitions:
            metadata = metadata or ""
            error_code = ErrorCode.NONE
            if not 0 <= partition < count:
                error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) > longest_metadata:
                error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            elif may_commit is not None:
                error_code = may_commit(topic_id, partition)
            if error_code is ErrorCode.NONE:
                committed = CommittedOffset(
                    offset, leader_epoch, metadata, self._now_ms, self._expire_ms, topic_id
                )
                self._committed.append((topic, partition, committed))
                self.records.append(state_log.offset_commit(group_id, topic, partition, committed))
            outcomes.append((partition, error_code))
        return outcomes

    def apply(self, table: OffsetTable, group_id: str, base_offset: int, producer_id: int) -> None:
        """Take in what has been written from `base_offset` on."""
        for record_offset, (topic, partition, committed) in enumerate(self._committed, base_offset):
            committed.record_offset = record_offset
            table.apply(group_id, topic, partition, committed, producer_id)


def refused_partitions(
    partitions: Sequence[PartitionCommit], topic: str, code: ErrorCode, topics: TopicsView
) -> list[PartitionOutcome]:
    """The same error for each partition that exists. Kafka looks first whether they exist."""
    count = topics.partition_count(topic)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return [
        (partition, code if 0 <= partition < count else unknown)
        for partition, _, _, _ in partitions
    ]
