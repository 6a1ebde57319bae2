"""`__transaction_state`: what survives the coordinator, in Kafka's schema.

The last record of a transactional id says all that is known of it; a tombstone forgets it. A record
is written before it is acted upon, so what a crash leaves is a transaction that is ongoing (it goes
on), or one whose end was decided (it is finished at the start), or one that is complete. Source:
Kafka's TransactionLog, TransactionLogValue; KIP-98, KIP-915.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.coordinators.coordinator_log import as_answered, last_values_of, offline_if_damaged
from kafkalite.coordinators.coordinator_topic import CoordinatorTopic
from kafkalite.coordinators.transaction_coordinator.transaction import Transaction, TransactionState
from kafkalite.requests.topic_names import TRANSACTIONS_TOPIC
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored import TRANSACTION_STATE, encode
from kafkalite.wire.messages.stored.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics


class Leadership(NamedTuple):
    """The node of this process that coordinates a partition, and the epoch that it does so in."""

    node_id: int
    leader_epoch: int


class TransactionLog(CoordinatorTopic):
    """The topic `__transaction_state`.

    `server_version` is the level of the feature transaction.version: 0 stands for a cluster with
    older Kafkas, which read records of version 0 only. Those of version 1 have tagged fields.
    """

    def __init__(
        self, topics: Topics, now_ms: Callable[[], int], server_version: Callable[[], int]
    ) -> None:
        super().__init__(topics, TRANSACTIONS_TOPIC, now_ms)
        self._server_version = server_version

    def partition_of(self, transactional_id: str) -> Partition:
        """The partition whose leader coordinates the id. Raises KafkaError(NOT_COORDINATOR)."""
        return self.partition(self.index_of(transactional_id))

    def leadership(self, index: int) -> Leadership | None:
        """The node of this process that coordinates a partition; None if no node does."""
        partition = self.partition(index)
        node_id = partition.coordinated_here
        return None if node_id < 0 else Leadership(node_id, partition.leader_epoch)

    def write(self, transaction: Transaction) -> None:
        """Raises KafkaError with the code the client gets; nothing has changed then."""
        version = min(self._server_version(), 1)
        self._append(transaction.transactional_id, value_of(transaction, version))

    def forget(self, transactional_id: str) -> None:
        """Write a tombstone. Raises KafkaError."""
        self._append(transactional_id, None)

    def _append(self, transactional_id: str, value: bytes | None) -> None:
        key = encode(TransactionLogKey(transactional_id=transactional_id))
        try:
            self.partition_of(transactional_id).append_trusted([(key, value)], self._now_ms())
        except KafkaError as error:
            raise as_answered(error) from error

    def replay(self, index: int) -> Iterator[tuple[str, Transaction | None]]:
        """The transactions in the records of one partition, in order; None for a forgotten id.

        The last state of each counts. Others may be left out. An unknown state takes the partition
        offline.
        """
        log = self.partition(index).log
        with offline_if_damaged(log):
            for key, value in last_values_of(log, TRANSACTION_STATE):
                if isinstance(key, TransactionLogKey):
                    name = key.transactional_id
                    yield name, None if value is None else transaction_of(name, value)


def value_of(transaction: Transaction, version: int = 1) -> bytes:
    """The record's value; version 0 says nothing of what the second generation needs."""
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None
        if transaction.state is TransactionState.EMPTY
        else [
            PartitionsSchema(topic=topic, partition_ids=sorted(indexes))
            for topic, indexes in sorted(transaction.partitions.items())
        ],
        transaction_last_update_timestamp_ms=transaction.last_update_timestamp_ms,
        transaction_start_timestamp_ms=transaction.start_timestamp_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return encode(value, version)


def transaction_of(transactional_id: str, value: TransactionLogValue) -> Transaction:
    """The transaction in a record's value, which may name a topic more than once."""
    partitions: dict[str, frozenset[int]] = {}
    for each in value.transaction_partitions or ():
        if each.partition_ids:
            known = partitions.get(each.topic, frozenset())
            partitions[each.topic] = known.union(each.partition_ids)
    return Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        partitions=partitions,
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
    )
