"""What one Fetch reads: from every partition it names, within its limits, once or again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kafkalite.config import RACK_AWARE_SELECTOR
from kafkalite.log.open_files import close_slices
from kafkalite.replica.fetch_sessions import FetchTarget
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    PartitionData,
)

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.log.log import ReadResult
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.purgatory import Watchers

_READ_COMMITTED: Final = 1
_FIRST_TOPIC_ID_VERSION: Final = 13
# From here on a consumer may read from a replica that does not lead (KIP-392).
_FIRST_FOLLOWER_VERSION: Final = 11
_NO_REPLICA: Final = -1

Answers = list[tuple[FetchTarget, PartitionData]]


class FetchReader:
    """Reads the targets of one request, and knows when that is worth an answer."""

    __slots__ = (
        "_cluster",
        "_committed_only",
        "_leader_only",
        "_max_bytes",
        "_min_bytes",
        "_node_id",
        "_partitions",
        "_rack",
        "_targets",
        "_topics",
        "_uses_topic_ids",
    )

    def __init__(
        self,
        config: BrokerConfig,
        cluster: Cluster,
        topics: Topics,
        context: RequestContext,
        request: FetchRequest,
        targets: Iterable[FetchTarget],
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._node_id = context.node_id
        self._uses_topic_ids = context.api_version >= _FIRST_TOPIC_ID_VERSION
        self._leader_only = context.api_version < _FIRST_FOLLOWER_VERSION
        self._committed_only = request.isolation_level == _READ_COMMITTED
        self._min_bytes = request.min_bytes
        self._max_bytes = min(request.max_bytes, config.integer("fetch.max.bytes"))
        self._targets = list(targets)
        self._rack = request.rack_id
        if self._rack and config.string("replica.selector.class") != RACK_AWARE_SELECTOR:
            self._rack = ""
        self._partitions: list[tuple[FetchTarget, Partition]] = []

    def read(self, *, waited: bool = False, empty: bool = False) -> Answers:
        """One answer for each target, in their order; with `empty`, all without records.

        `waited`: they were there before, and may have gone since.

        Records are FileSlices; the caller closes them.
        """
        self._partitions.clear()
        answers: Answers = []
        remaining = 0 if empty else self._max_bytes
        minimum_one_batch = not empty
        for target in self._targets:
            answer = self._read_target(target, remaining, minimum_one_batch, waited)
            size = len(answer.records or b"")
            if size:
                minimum_one_batch = False
                remaining = max(0, remaining - size)
            answers.append((target, answer))
        return answers

    def must_answer(self, answers: Answers) -> bool:
        """Whether what was read is to be answered at once rather than after more came in."""
        size = 0
        for _, answer in answers:
            if answer.error_code != ErrorCode.NONE or answer.diverging_epoch.epoch >= 0:
                return True
            if answer.preferred_read_replica != _NO_REPLICA:
                return True
            size += len(answer.records or b"")
        return not answers or size >= self._min_bytes

    @property
    def watched(self) -> list[Watchers]:
        """What can make `has_enough` true."""
        return [partition.watchers for _, partition in self._partitions]

    def has_enough(self) -> bool:
        """Whether by now there are min_bytes, or something else that must be answered.

        Called at every append to one of our partitions: what has not grown is not read.
        """
        size = 0
        for target, partition in self._partitions:
            wanted = target.wanted
            try:
                self._check(partition, target)
                limit = partition.read_limit(committed_only=self._committed_only)
                if limit <= wanted.fetch_offset:
                    continue
                result = partition.read(
                    wanted.fetch_offset,
                    wanted.partition_max_bytes,
                    committed_only=self._committed_only,
                )
            except KafkaError:
                return True
            size += len(result.records)
            close_slices((result.records,))
            if size >= self._min_bytes:
                return True
        return False

    def _check(self, partition: Partition, target: FetchTarget) -> None:
        if partition.is_deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition.check_leader(
            self._node_id, target.wanted.current_leader_epoch, leader_only=self._leader_only
        )

    def _find(self, target: FetchTarget) -> Partition:
        topics = self._topics
        if self._uses_topic_ids:
            topic = topics.by_id(target.topic_id)
            if topic is not None:
                target.known_as = topic.name
            elif not target.known_as:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            elif topics.get(target.known_as) is not None:
                raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID)
        else:
            topic = topics.get(target.topic)
        if topic is None or not 0 <= target.index < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic.partitions[target.index]

    def _read_target(
        self, target: FetchTarget, max_bytes: int, minimum_one_batch: bool, waited: bool
    ) -> PartitionData:
        try:
            partition = self._find(target)
        except KafkaError as error:
            # That a topic is another one Kafka finds out later than that there is none; and what is
            # found out when reading comes without a list of aborted transactions.
            is_late = waited or error.code is ErrorCode.INCONSISTENT_TOPIC_ID
            return _failed(target, error, aborted_transactions=None if is_late else [])
        try:
            self._check(partition, target)
            return self._read_partition(partition, target, max_bytes, minimum_one_batch)
        except KafkaError as error:
            return _failed(target, error, aborted_transactions=None)

    def _read_partition(
        self, partition: Partition, target: FetchTarget, max_bytes: int, minimum_one_batch: bool
    ) -> PartitionData:
        wanted = target.wanted
        if wanted.last_fetched_epoch >= 0:
            diverging = _divergence(partition, target)
            if diverging is not None:
                return diverging
        nearer = self._nearer_replica(partition) if self._rack else _NO_REPLICA
        if nearer != _NO_REPLICA and wanted.fetch_offset >= partition.log.log_start_offset:
            return PartitionData(
                partition_index=target.index,
                error_code=ErrorCode.NONE,
                high_watermark=partition.high_watermark,
                last_stable_offset=partition.last_stable_offset,
                log_start_offset=partition.log.log_start_offset,
                preferred_read_replica=nearer,
                aborted_transactions=None,
                records=b"",
            )
        result = partition.read(
            wanted.fetch_offset,
            min(max_bytes, wanted.partition_max_bytes),
            committed_only=self._committed_only,
            minimum_one_batch=minimum_one_batch,
        )
        self._partitions.append((target, partition))
        log = partition.log
        return PartitionData(
            partition_index=target.index,
            error_code=ErrorCode.NONE,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=self._aborted(result) if self._committed_only else None,
            records=result.records,
        )

    def _nearer_replica(self, partition: Partition) -> int:
        """A replica in the consumer's rack where the leader is in another (KIP-392)."""
        if self._node_id != partition.leader_id:
            return _NO_REPLICA
        nodes = self._cluster.nodes
        near = [
            node_id
            for node_id in partition.in_sync_replicas
            if node_id in nodes and nodes[node_id].rack == self._rack
        ]
        return _NO_REPLICA if not near or partition.leader_id in near else near[0]

    def _aborted(self, result: ReadResult) -> list[AbortedTransaction]:
        return [
            AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
            for aborted in result.aborted_transactions or ()
        ]


def _divergence(partition: Partition, target: FetchTarget) -> PartitionData | None:
    """Where the reader's history parts from ours, if it does (KIP-595)."""
    wanted = target.wanted
    epoch, end_offset = partition.end_offset_for_epoch(wanted.last_fetched_epoch)
    if epoch == -1 or wanted.fetch_offset < partition.log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
        return None
    return PartitionData(
        partition_index=target.index,
        error_code=ErrorCode.NONE,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
        aborted_transactions=None,
        records=b"",
    )


def _failed(
    target: FetchTarget, error: KafkaError, aborted_transactions: list[AbortedTransaction] | None
) -> PartitionData:
    return PartitionData(
        partition_index=target.index,
        error_code=error.code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted_transactions,
        records=b"",
    )
