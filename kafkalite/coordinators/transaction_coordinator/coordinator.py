"""TransactionCoordinator: all transactional ids of this process, for each of its nodes.

Every request is decided, written and adopted in one plain function. In one process the markers of a
transaction that ends are written in it too: the next request finds the transaction complete. Very
many markers are written by a task, in slices. What hinders a marker (a partition without a leader)
is tried again, and among several processes markers travel. Until then the producer is told
CONCURRENT_TRANSACTIONS, as by Kafka.

A node coordinates the ids whose partition of `__transaction_state` it leads (shards.py). Source:
Kafka's TransactionCoordinator, TransactionStateManager, AddPartitionsToTxnManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from kafkalite.coordinators.transaction_coordinator.end import completed, ended, fenced
from kafkalite.coordinators.transaction_coordinator.endings import Endings
from kafkalite.coordinators.transaction_coordinator.markers import Markers
from kafkalite.coordinators.transaction_coordinator.shards import TransactionShards
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import (
    ENDING,
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
from kafkalite.log.loggers import logger_of
from kafkalite.log.said_once import SaidOnce
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import Steps, at_once, in_slices_of_task
from kafkalite.supervision import every, supervised
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH

if TYPE_CHECKING:
    from kafkalite.log.verification import VerificationGuard
    from kafkalite.replica.partition import Partition

logger = logger_of(__name__)


async def _in_slices(work: Callable[[], Steps[None]]) -> None:
    await in_slices_of_task(work())


class TransactionConfig(Struct, frozen=True):
    """The broker's configs about transactions, under their names."""

    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int


@dataclass(frozen=True, slots=True)
class Producer:
    """The identity that a transactional request gives."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TransactionCoordinator:
    """`server_version` gives the level of transaction.version, `new_producer_id` takes a node id.

    `load` takes the steps that load a partition.
    """

    def __init__(
        self,
        config: TransactionConfig,
        log: TransactionLog,
        markers: Markers,
        *,
        now_ms: Callable[[], int],
        new_producer_id: Callable[[int], int],
        server_version: Callable[[], int],
        load: Callable[[Steps[None]], object] = at_once,
    ) -> None:
        self.config = config
        self._log = log
        self._now_ms = now_ms
        self._new_producer_id = new_producer_id
        self._server_version = server_version
        self._shards = TransactionShards(log, load, loaded=self._loaded, resigned=self._resigned)
        self._is_running = False
        self._trouble = SaidOnce("transactions", logger, logging.WARNING)
        self._endings = Endings(log, markers, self._complete, self._failed)
        self.adopted: Callable[[Transaction | None, Transaction, str], None] | None = None

    # Life

    @property
    def completions(self) -> Watchers:
        """Notified when a transaction is complete."""
        return self._endings.completions

    def leaders_changed(self) -> None:
        """Leaders of `__transaction_state` may be others: load and drop its partitions."""
        if self._is_running:
            self._shards.leaders_changed()

    def _loaded(self, transaction: Transaction) -> None:
        """Finish what was being ended."""
        if transaction.state in ENDING:
            name, state = transaction.transactional_id, transaction.state.title
            logger.info("%s: finishing its transaction, which is %s", name, state)
            self._endings.begin(transaction)

    def _resigned(self, index: int) -> None:
        """The next coordinator ends what was being ended."""
        self._endings.forget(lambda transactional_id: self._log.index_of(transactional_id) == index)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load, then see to timeouts, expiry, and markers that could not be written."""
        self._is_running = True
        self.leaders_changed()
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
                    every,
                    "transaction timeouts",
                    partial(float, interval_ms / 1000),
                    partial(_in_slices, work),
                )
            nursery.start_soon(supervised, "transaction markers", self._endings.run)
            task_status.started()

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
        transaction = self._shards.find(transactional_id, node_id)
        if transaction is None:
            producer_id = self._new_producer_id(node_id)
            transaction = Transaction(transactional_id, producer_id, NO_PRODUCER_EPOCH, timeout_ms)
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
        partitions: Mapping[str, Collection[int]],
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
        if where.partition not in transaction.partitions.get(where.topic, ()):
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
        self._endings.begin(prepared)
        # The state after completion, whether or not that was possible by now.
        after = completed(prepared, prepared.last_update_timestamp_ms)
        return after.producer_id, after.producer_epoch

    # Requests of partitions, before the first batch of a transaction

    def is_ending(self, transactional_id: str) -> bool:
        """True if the last transaction's markers are not all written yet."""
        return transactional_id in self._endings

    def begin_in_partition(
        self,
        partition: Partition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        *,
        adds: bool,
    ) -> VerificationGuard | None:
        """Make sure that a partition is in a batch's transaction. The guard goes with the append.

        If `adds` the partition is added here (transactions V2), else the client must have added it.
        Raises KafkaError: TRANSACTION_ABORTABLE if it has not, INVALID_PRODUCER_EPOCH,
        INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS.
        """
        guard = partition.log.start_verification(
            producer_id, base_sequence, producer_epoch, supports_epoch_bump=adds
        )
        if guard is not None:
            self.join(
                Producer(transactional_id, producer_id, producer_epoch),
                TopicPartition(partition.topic, partition.index),
                adds=adds,
            )
        return guard

    def join(self, producer: Producer, where: TopicPartition, *, adds: bool) -> None:
        """The same without a batch: the leader of a partition may ask any coordinator."""
        try:
            node_id = self._log.partition_of(producer.transactional_id).leader_id
            if adds:
                partitions = {where.topic: (where.partition,)}
                self.add_partitions(producer, node_id, partitions, client_version=2)
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

    def of_node(self, node_id: int) -> Iterable[Transaction]:
        """All that a node coordinates. Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS)."""
        return self._shards.of_node(node_id)

    def all(self) -> Iterable[Transaction]:
        """All that this process coordinates, for any of its nodes."""
        return self._shards.all()

    def node_of(self, transactional_id: str) -> int:
        """The node that coordinates an id. Raises KafkaError(NOT_COORDINATOR)."""
        return self._log.partition_of(transactional_id).leader_id

    # Time

    def abort_timed_out(self) -> Steps[None]:
        """Abort the transactions whose producer took longer than its timeout, and fence it."""
        for transaction in self._shards.in_steps():
            if transaction.is_timed_out(self._now_ms()):
                try:
                    leader_id = self._log.partition_of(transaction.transactional_id).leader_id
                    self._fence(transaction, leader_id, "its transaction has timed out")
                except KafkaError as error:
                    self._failed(transaction.transactional_id, "not aborted", error)
            yield

    def remove_expired(self) -> Steps[None]:
        """Forget the transactional ids that were idle for transactional.id.expiration.ms."""
        for transaction in self._shards.in_steps():
            transactional_id = transaction.transactional_id
            if transaction.is_expired(self._now_ms(), self.config.transactional_id_expiration_ms):
                try:
                    self._log.forget(transactional_id)
                except KafkaError as error:
                    self._failed(transactional_id, "not forgotten", error)
                else:
                    self._shards.remove(transactional_id)
            yield

    # Inside

    def _existing(
        self,
        transactional_id: str,
        node_id: int,
        if_unknown: ErrorCode = ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ) -> Transaction:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        transaction = self._shards.find(transactional_id, node_id)
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
        self._endings.begin(prepared)

    def _adopt(self, transaction: Transaction, why: str = "") -> None:
        """Write the transaction, then adopt it: only what is in the log counts."""
        self._log.write(transaction)
        transactional_id = transaction.transactional_id
        if why or transaction.state is TransactionState.EMPTY:
            what = f"producer fenced, {why}" if why else "new producer"
            logger.info("%s: %s, epoch %d now", transactional_id, what, transaction.producer_epoch)
        before = self._shards.put(transaction)
        if self.adopted is not None:
            self.adopted(before, transaction, why)

    def _complete(self, transaction: Transaction) -> None:
        """All markers are written. Raises KafkaError."""
        self._adopt(completed(transaction, self._now_ms()))

    def _failed(self, transactional_id: str, what: str, error: KafkaError) -> None:
        self._trouble.failed(KafkaError(error.code, f"{transactional_id}: {what}: {error}"))
