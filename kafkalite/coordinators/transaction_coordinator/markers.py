"""Markers: how the partitions of a transaction are told that it ended, and how.

The nodes of one process share their logs, so a marker is an append, not a request to another node.
Among several processes it is one (marker_channels.py). A partition without a leader is waited for.
Apache Kafka 4.3.1 takes it for deleted and calls the transaction complete without its marker
(KAFKA-20734), so that it hangs once the leader is back. Kafka's TransactionMarkerChannelManager,
KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from kafkalite.coordinators.transaction_coordinator.transaction import (
    TopicPartition,
    Transaction,
    TransactionState,
)
from kafkalite.log.append_info import AppendOrigin
from kafkalite.replica.pending_append import AwaitedAppend
from kafkalite.requests.slices import Steps
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from kafkalite.coordinators.standing import Standing
    from kafkalite.group_coordinator.coordinator import GroupCoordinator
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.slices import Steps

# The topic is gone; or the partition has seen a later epoch of this producer, which no marker of
# ours can have preceded: neither has anything of this transaction that is undecided.
NOTHING_TO_END: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PRODUCER_EPOCH}
)


class NoProducerError(KafkaError):
    """A marker has no producer id or epoch: no batch can be built of it (MemoryRecordsBuilder)."""


class Ending(Struct, eq=False):
    """A transaction whose end is decided, and its partitions that have no marker yet.

    `decision` stands for what was written: if the coordinator is lost with it, the next one may
    decide otherwise. So no marker goes to another broker before the replicas have it.
    """

    transaction: Transaction
    decision: Standing
    missing: set[TopicPartition]

    @property
    def commit(self) -> bool:
        return self.transaction.state is TransactionState.PREPARE_COMMIT


class Markers(Protocol):
    """A way for markers to get to partitions."""

    def sending(self, ending: Ending, sent: Callable[[Ending], None]) -> Steps[None]:
        """See to the markers that are missing; partitions that have one are taken off.

        `sent` is called when all are written, or no more can be written now.
        The caller does the steps, one for each marker.
        """
        ...


class MarkerWriter:
    """Writes markers into partitions, and tells the group coordinator of those in its own."""

    def __init__(self, topics: Topics, groups: GroupCoordinator, now_ms: Callable[[], int]) -> None:
        self._topics = topics
        self._groups = groups
        self._now_ms = now_ms

    def write(
        self,
        where: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        node_id: int | None = None,
    ) -> AwaitedAppend:
        """Write one marker; `node_id` must lead the partition, unless it is None.

        Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER (also while the group
        coordinator loads the partition), and what appending raises (INVALID_PRODUCER_EPOCH,
        TRANSACTION_COORDINATOR_FENCED, NOT_ENOUGH_REPLICAS); NoProducerError.
        """
        topic = self._topics.get(where.topic)
        if topic is None or not 0 <= where.partition < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = topic.partitions[where.partition]
        leader_id = partition.leader_id if node_id is None else node_id
        if leader_id < 0:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition.check_leader(leader_id, -1, leader_only=True)
        if where.topic == OFFSETS_TOPIC and self._groups.shards.is_loading(where.partition):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if producer_id == NO_PRODUCER_ID or producer_epoch == NO_PRODUCER_EPOCH:
            raise NoProducerError(ErrorCode.UNKNOWN_SERVER_ERROR)
        marker = build_end_transaction_marker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            commit=commit,
            coordinator_epoch=coordinator_epoch,
            timestamp=self._now_ms(),
        )
        info = partition.append(
            marker, origin=AppendOrigin.COORDINATOR, transaction_version=transaction_version
        )
        if where.topic == OFFSETS_TOPIC:
            self._groups.transaction_ended(where.partition, producer_id, committed=commit)
        return AwaitedAppend(partition, info.last_offset)

    def sending(self, ending: Ending, sent: Callable[[Ending], None]) -> Steps[None]:
        """Write the markers that can be written (Markers.sending)."""
        for where in sorted(ending.missing):
            if self._is_ended(ending, where):
                ending.missing.discard(where)
            yield
        sent(ending)

    def _is_ended(self, ending: Ending, where: TopicPartition) -> bool:
        """Write one marker. False if it must be tried again later."""
        transaction = ending.transaction
        try:
            self.write(
                where,
                transaction.producer_id,
                transaction.producer_epoch,
                commit=ending.commit,
                coordinator_epoch=ending.decision.leader_epoch,
                transaction_version=transaction.client_version,
            )
        except KafkaError as error:
            return error.code in NOTHING_TO_END
        return True
