"""The transaction coordinator's place in the broker: its parts, and the questions of Produce.

The first batch of a transaction in a partition makes sure that the coordinator knows of the
partition, so that it will get a marker: clients of transactions v1 must have said so before, for
those of v2 it is added then and there (KIP-890). Any later batch finds the transaction open in the
log, and no coordinator is asked. While the producer's last transaction is not complete, for want of
a leader that writes a marker, a Produce waits for a moment, so that the client need not ask again.
Among several processes the coordinator may be another broker. It was asked before the request came
here (transaction_gate.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.coordinators.transaction_coordinator.coordinator import (
    TransactionConfig,
    TransactionCoordinator,
)
from kafkalite.coordinators.transaction_coordinator.markers import Markers, MarkerWriter
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.requests.purgatory import wait_until
from kafkalite.wire.api_keys import PRODUCE_OF_V2_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_ID, producer_of

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.group_coordinator.coordinator import GroupCoordinator
    from kafkalite.log.verification import VerificationGuard
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.context import RequestContext
    from kafkalite.requests.slices import Steps
    from kafkalite.wire.fields import InMemory

# The first version of Produce whose clients know TRANSACTION_ABORTABLE.
_ABORTABLE_SINCE: Final = 11
# False: the coordinator is not asked whether a client has added a partition.
VERIFIES: Final = "transaction.partition.verification.enable"
_TRY_LATER: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
    }
)


def open_transaction_coordinator(
    config: BrokerConfig,
    cluster: Cluster,
    topics: Topics,
    groups: GroupCoordinator,
    now_ms: Callable[[], int],
    *,
    load: Callable[[Steps[None]], object],
    markers: Markers | None,
) -> TransactionCoordinator:
    """The coordinator of all transactional ids of this process. It works once its `run` does.

    `load` takes the steps in which it loads. `markers`: how they get to other processes, if there
    are any.
    """
    integer = config.integer
    timeouts = TransactionConfig(
        transaction_max_timeout_ms=integer("transaction.max.timeout.ms"),
        transactional_id_expiration_ms=integer("transactional.id.expiration.ms"),
        transaction_abort_timed_out_transaction_cleanup_interval_ms=integer(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        transaction_remove_expired_transaction_cleanup_interval_ms=integer(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
    )

    def server_version() -> int:
        return cluster.features.get("transaction.version", 0)

    coordinator = TransactionCoordinator(
        timeouts,
        TransactionLog(topics, now_ms, server_version),
        MarkerWriter(topics, groups, now_ms) if markers is None else markers,
        now_ms=now_ms,
        new_producer_id=cluster.allocate_producer_id,
        server_version=server_version,
        load=load,
    )
    cluster.subscribe(lambda records: coordinator.leaders_changed())
    topics.subscribe(coordinator.leaders_changed)  # also when a log is opened again
    return coordinator


async def await_previous_transaction(
    coordinator: TransactionCoordinator,
    config: BrokerConfig,
    context: RequestContext,
    transactional_id: str,
) -> None:
    """Wait until the id's last transaction is complete, for
    add.partitions.to.txn.retry.backoff.max.ms at most.

    Source: Kafka's ReplicaManager.handleProduceAppend, which looks every 20 ms.
    """
    await context.connection.move_to_task()
    patience_ms = config.integer("add.partitions.to.txn.retry.backoff.max.ms")
    await wait_until(
        lambda: not coordinator.is_ending(transactional_id),
        [coordinator.completions],
        trio.current_time() + patience_ms / 1000,
    )


class NotInTransaction(KafkaError):
    """A batch is refused before the log was looked at: the answer has no log start offset."""


def begin_transaction(
    coordinator: TransactionCoordinator,
    config: BrokerConfig,
    context: RequestContext,
    transactional_id: str | None,
    partition: Partition,
    records: InMemory,
) -> VerificationGuard | None:
    """Make sure that a partition is in the transaction of a batch. The guard goes with the append.

    Raises NotInTransaction, with the codes that the client's version knows (Kafka's ReplicaManager,
    AddPartitionsToTxnManager).
    """
    producer_id, producer_epoch, base_sequence = producer_of(records)
    if producer_id <= NO_PRODUCER_ID:
        return None  # the log says what is wrong with it
    if transactional_id is None:
        raise NotInTransaction(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    adds = context.api_version >= PRODUCE_OF_V2_SINCE
    if not adds and not config.boolean(VERIFIES, context.node_id):
        return None
    try:
        if context.guard_of is not None:
            guard: VerificationGuard | None = context.guard_of(partition)
            return guard
        return coordinator.begin_in_partition(
            partition, transactional_id, producer_id, producer_epoch, base_sequence, adds=adds
        )
    except KafkaError as error:
        raise _as_answered(error, context.api_version) from error


def _as_answered(error: KafkaError, version: int) -> NotInTransaction:
    is_concurrent = error.code is ErrorCode.CONCURRENT_TRANSACTIONS
    if error.code in _TRY_LATER or (is_concurrent and version < PRODUCE_OF_V2_SINCE):
        # Not every client would retry on the code itself.
        return NotInTransaction(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. Underlying error: "
            f"{error.code.name}",
        )
    if error.code is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE:
        return NotInTransaction(
            ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction"
        )
    if error.code is ErrorCode.INVALID_TXN_STATE:
        return NotInTransaction(error.code, "Partition was not added to the transaction")
    return NotInTransaction(error.code, error.message)
