"""TransactionCoordinator: all transactional ids of this process, for each of its nodes.

Every request is decided, written and adopted in one plain function, and the markers of a
transaction that ends are written in it too, since every partition is in this process: the next
request finds the transaction complete. Very many markers are written by a task, in slices. What
hinders a marker (a partition without a leader) is tried again. Until all are written the producer
is told CONCURRENT_TRANSACTIONS, as by Kafka.

A node coordinates the ids whose partition of `__transaction_state` it leads; when that changes, the
state needs no loading, for the nodes share it. Source: Kafka's TransactionCoordinator,
TransactionStateManager, AddPartitionsToTxnManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.coordinators.transaction_coordinator.config import TransactionConfig
from kafkalite.coordinators.transaction_coordinator.end import completed, ended, fenced
from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import (
    ENDING,
    NO_EPOCH,
    VERSION_2,
    TopicPartition,
    Transaction,
    TransactionState,
    check_expected,
    check_not_ending,
    check_producer,
    initialized,
    with_partitions,
)
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import Steps, at_once, in_slices_of_task
from kafkalite.supervision import every, supervised
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.log.verification import VerificationGuard
    from kafkalite.replica.partition import Partition
    from kafkalite.wire.record_batch import RecordBatch

logger = logging.getLogger(__name__)

# A marker that is missing is tried again after this time (Kafka's request retry backoff).
_RETRY_SECONDS: Final = 0.1
# The markers of more partitions are written in slices: the first in a partition makes files.
_MARKERS_AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True)
class Producer:
    """The identity that a transactional request gives."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TransactionCoordinator:
    """`server_version`: the level of transaction.version. `new_producer_id` takes a node id."""

    def __init__(
        self,
        config: TransactionConfig,
        log: TransactionLog,
        markers: MarkerWriter,
        *,
        now_ms: Callable[[], int],
        new_producer_id: Callable[[int], int],
        server_version: Callable[[], int],
    ) -> None:
        self.config = config
        self._log = log
        self._markers = markers
        self._now_ms = now_ms
        self._new_producer_id = new_producer_id
        self._server_version = server_version
        self._transactions: dict[str, Transaction] = {}
        # Partitions that have no marker yet, of transactions whose end is decided.
        self._unmarked: dict[str, set[TopicPartition]] = {}
        self._must_retry = trio.Event()
        # Notified when a transaction is complete.
        self.completions = Watchers()
        self.adopted: Callable[[Transaction | None, Transaction, str], None] | None = None

    # Life

    def load(self) -> None:
        """Read back what was written, and finish what was being ended."""
        for index in range(self._log.partition_count):
            self._transactions.update(self._log.replay(index))
        for transaction in list(self._transactions.values()):
            if transaction.state in ENDING:
                what = f"finishing its transaction, which is {transaction.state.title}"
                logger.info("%s: %s", transaction.transactional_id, what)
                self._write_markers(transaction)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load, then see to timeouts, expiry, and markers that could not be written."""
        self.load()
        config = self.config
        async with trio.open_nursery() as nursery:
            for interval_ms, work in (
                (
                    config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                    self.abort_timed_out,
                ),
                (
                    config.transaction_remove_expired_transaction_cleanup_interval_ms,
                    self.remove_expired,
                ),
            ):
                nursery.start_soon(
                    every, "transaction timeouts", partial(float, interval_ms / 1000), work
                )
            nursery.start_soon(supervised, "transaction markers", self._retry_markers)
            task_status.started()

    async def _retry_markers(self) -> None:
        while True:
            await self._must_retry.wait()
            self._must_retry = trio.Event()
            await trio.sleep(_RETRY_SECONDS)
            try:
                await in_slices_of_task(self.retry_markers())
            finally:
                if self._unmarked:
                    self._must_retry.set()

    def retry_markers(self) -> Steps[None]:
        """Try again to write the markers that are missing."""
        for transactional_id in list(self._unmarked):
            yield from self._marking(self._transactions[transactional_id])

    # Requests of producers

    def init_producer_id(
        self,
        transactional_id: str,
        node_id: int,
        *,
        timeout_ms: int,
        expected: tuple[int, int] | None,
    ) -> tuple[int, int]:
        """The producer id and epoch for a transactional id. Its earlier producer is fenced.

        Raises KafkaError: INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS
        (ask again: the open transaction is being aborted), and what `find` and writing raise.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.config.transaction_max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        transaction = self._find(transactional_id, node_id)
        if transaction is None:
            producer_id = self._new_producer_id(node_id)
            transaction = Transaction(transactional_id, producer_id, NO_EPOCH, timeout_ms)
        if transaction.state is TransactionState.ONGOING:
            check_expected(transaction, expected)
            # Its epoch is never given to anybody: asking again bumps it once more.
            self._fence(transaction, node_id, "another producer has come")
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        transaction = initialized(
            transaction,
            timeout_ms=timeout_ms,
            expected=expected,
            new_producer_id=lambda: self._new_producer_id(node_id),
            now_ms=self._now_ms(),
        )
        self._adopt(transaction)
        return transaction.producer_id, transaction.producer_epoch

    def add_partitions(
        self,
        producer: Producer,
        node_id: int,
        partitions: frozenset[TopicPartition],
        *,
        client_version: int,
    ) -> None:
        """AddPartitionsToTxn and AddOffsetsToTxn. Raises KafkaError."""
        transaction = self._existing(producer.transactional_id, node_id)
        check_not_ending(transaction)
        check_producer(transaction, producer.producer_id, producer.producer_epoch)
        added = with_partitions(
            transaction, partitions, client_version=client_version, now_ms=self._now_ms()
        )
        if added is not transaction:
            self._check_generation(added)
            self._adopt(added)

    def verify_partition(self, producer: Producer, node_id: int, where: TopicPartition) -> None:
        """Raise KafkaError(TRANSACTION_ABORTABLE) unless the partition was added."""
        transaction = self._existing(producer.transactional_id, node_id)
        check_producer(transaction, producer.producer_id, producer.producer_epoch)
        check_not_ending(transaction)
        if where not in transaction.partitions:
            raise KafkaError(ErrorCode.TRANSACTION_ABORTABLE)

    def end(
        self, producer: Producer, node_id: int, *, commit: bool, client_version: int
    ) -> tuple[int, int]:
        """EndTxn: the producer id and epoch to go on with. Raises KafkaError."""
        transaction = self._existing(producer.transactional_id, node_id)
        prepared = ended(
            transaction,
            producer.producer_id,
            producer.producer_epoch,
            commit=commit,
            client_version=client_version,
            new_producer_id=lambda: self._new_producer_id(node_id),
            now_ms=self._now_ms(),
        )
        if prepared is None:
            return transaction.producer_id, transaction.producer_epoch
        self._check_generation(prepared)
        self._adopt(prepared)
        self._write_markers(prepared)
        # The state after completion, whether or not that was possible by now.
        after = completed(prepared, prepared.last_update_timestamp_ms)
        return after.producer_id, after.producer_epoch

    # Requests of partitions, before the first batch of a transaction

    def is_ending(self, transactional_id: str) -> bool:
        """True if the last transaction's markers are not all written yet."""
        return transactional_id in self._unmarked

    def begin_in_partition(
        self, partition: Partition, transactional_id: str, batch: RecordBatch, *, adds: bool
    ) -> VerificationGuard | None:
        """Make sure that a partition is in a batch's transaction. The guard goes with the append.

        If `adds` the partition is added here (transactions V2), else the client must have added it.
        Raises KafkaError: TRANSACTION_ABORTABLE if it has not, INVALID_PRODUCER_EPOCH,
        INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS.
        """
        guard = partition.log.start_verification(
            batch.producer_id, batch.base_sequence, batch.producer_epoch, supports_epoch_bump=adds
        )
        if guard is not None:
            self.join(
                Producer(transactional_id, batch.producer_id, batch.producer_epoch),
                TopicPartition(partition.topic, partition.index),
                adds=adds,
            )
        return guard

    def join(self, producer: Producer, where: TopicPartition, *, adds: bool) -> None:
        """The same without a batch: the leader of a partition may ask any coordinator."""
        try:
            node_id = self._log.partition_of(producer.transactional_id).leader_id
            if adds:
                self.add_partitions(producer, node_id, frozenset({where}), client_version=2)
            else:
                self.verify_partition(producer, node_id, where)
        except KafkaError as error:
            if error.code is ErrorCode.PRODUCER_FENCED:
                raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH) from error
            raise

    # Administration

    def describe(self, transactional_id: str, node_id: int) -> Transaction:
        """Raises KafkaError: INVALID_REQUEST, NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND."""
        return self._existing(transactional_id, node_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    def of_node(self, node_id: int) -> Iterator[Transaction]:
        """All that a node coordinates."""
        return (
            transaction
            for transaction in self._transactions.values()
            if self._log.partition_of(transaction.transactional_id).leader_id == node_id
        )

    def all(self) -> Iterator[Transaction]:
        """All that this process coordinates, for any of its nodes."""
        return iter(list(self._transactions.values()))

    def node_of(self, transactional_id: str) -> int:
        """The node that coordinates an id. Raises KafkaError(NOT_COORDINATOR)."""
        return self._log.partition_of(transactional_id).leader_id

    # Time

    def abort_timed_out(self) -> None:
        """Abort the transactions whose producer took longer than its timeout, and fence it."""
        now_ms = self._now_ms()
        overdue = [each for each in self._transactions.values() if each.is_timed_out(now_ms)]
        for transaction in overdue:
            try:
                leader_id = self._log.partition_of(transaction.transactional_id).leader_id
                self._fence(transaction, leader_id, "its transaction has timed out")
            except KafkaError as error:
                logger.warning("%s: not aborted: %s", transaction.transactional_id, error)

    def remove_expired(self) -> None:
        """Forget the transactional ids that were idle for transactional.id.expiration.ms."""
        now_ms = self._now_ms()
        for transactional_id, transaction in list(self._transactions.items()):
            if transaction.is_expired(now_ms, self.config.transactional_id_expiration_ms):
                try:
                    self._log.forget(transactional_id)
                except KafkaError as error:
                    logger.warning("%s: not forgotten: %s", transactional_id, error)
                else:
                    del self._transactions[transactional_id]

    # Inside

    def _find(self, transactional_id: str, node_id: int) -> Transaction | None:
        if self._log.partition_of(transactional_id).coordinated_here != node_id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._transactions.get(transactional_id)

    def _existing(
        self,
        transactional_id: str,
        node_id: int,
        if_unknown: ErrorCode = ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ) -> Transaction:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        transaction = self._find(transactional_id, node_id)
        if transaction is None:
            raise KafkaError(if_unknown)
        return transaction

    def _check_generation(self, transaction: Transaction) -> None:
        """Records of version 0 cannot tell of the second generation. Raises KafkaError."""
        if transaction.client_version >= VERSION_2 and self._server_version() < 1:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _fence(self, transaction: Transaction, node_id: int, why: str) -> None:
        prepared = fenced(
            transaction,
            lambda: self._new_producer_id(node_id),
            server_version=self._server_version(),
            now_ms=self._now_ms(),
        )
        self._adopt(prepared, why)
        self._write_markers(prepared)

    def _adopt(self, transaction: Transaction, why: str = "") -> None:
        """Write the transaction, then adopt it: only what is in the log counts."""
        self._log.write(transaction)
        transactional_id = transaction.transactional_id
        if why or transaction.state is TransactionState.EMPTY:
            what = f"producer fenced, {why}" if why else "new producer"
            logger.info("%s: %s, epoch %d now", transactional_id, what, transaction.producer_epoch)
        if self.adopted is not None:
            self.adopted(self._transactions.get(transactional_id), transaction, why)
        self._transactions[transactional_id] = transaction

    def _write_markers(self, transaction: Transaction) -> None:
        """Write the markers that can be written; very many of them are left to a task."""
        self._unmarked[transaction.transactional_id] = set(transaction.partitions)
        if len(transaction.partitions) <= _MARKERS_AT_ONCE:
            at_once(self._marking(transaction))
        if transaction.transactional_id in self._unmarked:
            self._must_retry.set()

    def _marking(self, transaction: Transaction) -> Steps[None]:
        """Write the markers that can be written. Once all are, the transaction is complete."""
        transactional_id = transaction.transactional_id
        unmarked = self._unmarked[transactional_id]
        coordinator_epoch = self._log.partition_of(transactional_id).leader_epoch
        commit = transaction.state is TransactionState.PREPARE_COMMIT
        for where in sorted(unmarked):
            if self._markers.write_if_needed(
                where,
                transaction.producer_id,
                transaction.producer_epoch,
                commit=commit,
                coordinator_epoch=coordinator_epoch,
                transaction_version=transaction.client_version,
            ):
                unmarked.discard(where)
            yield
        if not unmarked:
            try:
                self._adopt(completed(transaction, self._now_ms()))
            except KafkaError as error:
                logger.warning("%s: not yet complete: %s", transactional_id, error)
            else:
                del self._unmarked[transactional_id]
                self.completions.check_and_complete()
