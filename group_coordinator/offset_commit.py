"""Commits on their way into the log and into the table of offsets."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.offset_checks import CheckCommitted
from kafkalite.group_coordinator.offset_table import (
    NO_TIMESTAMP,
    NO_TOPIC_ID,
    CommittedOffset,
    OffsetTable,
)
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.record_format import WrittenPairs

_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_TOO_LARGE: Final = ErrorCode.OFFSET_METADATA_TOO_LARGE


def _java_sum(one: int, other: int) -> int:
    """The sum as Java's long, which begins anew with the lowest number."""
    return (one + other + (1 << 63)) % (1 << 64) - (1 << 63)


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

    __slots__ = (
        "_committed",
        "_config",
        "_expire_ms",
        "_is_transactional",
        "_now_ms",
        "_topics",
        "records",
    )

    def __init__(
        self,
        config: GroupConfig,
        topics: TopicsView,
        now_ms: int,
        retention_ms: int = NO_TIMESTAMP,
        *,
        is_transactional: bool = False,
    ) -> None:
        """Kafka does not keep the topic's id with what is committed in a transaction."""
        self._is_transactional = is_transactional
        self._config = config
        self._topics = topics
        self._now_ms = now_ms
        self._expire_ms = NO_TIMESTAMP
        if retention_ms != NO_TIMESTAMP:
            self._expire_ms = _java_sum(now_ms, retention_ms)
        self._committed: list[tuple[str, list[tuple[int, CommittedOffset]]]] = []
        self.records = WrittenPairs()

    def check(
        self,
        group_id: str,
        topic: str,
        partitions: Sequence[PartitionCommit],
        check_committed: CheckCommitted | None = None,
    ) -> list[PartitionOutcome]:
        """Each partition with the error it will be answered with.

        Raises what `check_committed` raises, which refuses the whole request
        (OffsetMetadataManager.commitOffset).
        """
        outcomes: list[PartitionOutcome] = []
        count = self._topics.partition_count(topic)
        topic_id = self._topics.topic_id(topic) or NO_TOPIC_ID
        longest_metadata = self._config.offset_metadata_max_bytes
        now_ms, expire_ms, records = self._now_ms, self._expire_ms, self.records
        encoder: state_log.CommitEncoder | None = None
        kept_id = NO_TOPIC_ID if self._is_transactional else topic_id
        if count:
            encoder = state_log.CommitEncoder(group_id, topic, kept_id, now_ms, expire_ms)
        of_topic: list[tuple[int, CommittedOffset]] = []
        for partition, offset, leader_epoch, metadata in partitions:
            metadata = metadata or ""
            if encoder is None or not 0 <= partition < count:
                outcomes.append((partition, _UNKNOWN))
                continue
            if len(metadata) > longest_metadata:
                outcomes.append((partition, _TOO_LARGE))
                continue
            if check_committed is not None:
                check_committed(topic_id, partition)
            committed = CommittedOffset(offset, leader_epoch, metadata, now_ms, expire_ms, kept_id)
            of_topic.append((partition, committed))
            records.add(*encoder.record(partition, offset, leader_epoch, metadata))
            outcomes.append((partition, 0))
        if of_topic:
            self._committed.append((topic, of_topic))
        return outcomes

    def apply(self, table: OffsetTable, group_id: str, base_offset: int, producer_id: int) -> None:
        """Take in what has been written from `base_offset` on."""
        record_offset = base_offset
        for topic, committed_in_topic in self._committed:
            offsets = table.of_topic(group_id, topic, producer_id)
            for partition, committed in committed_in_topic:
                committed.record_offset = record_offset
                offsets[partition] = committed
                record_offset += 1


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
