"""The end of a transaction: EndTxn of both generations, fencing, and what follows the markers.

Ending is written twice: once it is decided (PREPARE_*), which is the moment of truth, and once
every partition has its marker (COMPLETE_*). A client may ask again at any point and must be told
the same. Source: Kafka's TransactionCoordinator.endTransaction (4.3: one for each generation);
KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from kafkalite.coordinators.transaction_coordinator.transaction import (
    LAST_EPOCH_OF_CLIENTS,
    MAX_EPOCH,
    NO_PARTITIONS,
    VERSION_1,
    VERSION_2,
    Transaction,
    TransactionState,
    check_not_ending,
    check_producer,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


def ended(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    client_version: int,
    new_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction | None:
    """The transaction after EndTxn. None for a repetition of what was done.

    Raises KafkaError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while
    markers are written, INVALID_TXN_STATE.
    """
    if client_version >= VERSION_2:
        return _ended_v2(transaction, producer_id, producer_epoch, commit, new_producer_id, now_ms)
    return _ended_v1(transaction, producer_id, producer_epoch, commit, now_ms)


def _ended_v1(
    transaction: Transaction, producer_id: int, producer_epoch: int, commit: bool, now_ms: int
) -> Transaction | None:
    check_producer(transaction, producer_id, producer_epoch)
    check_not_ending(transaction)
    match transaction.state, commit:
        case TransactionState.ONGOING, _:
            return transaction.become(_prepared(commit), now_ms, client_version=VERSION_1)
        case (TransactionState.COMPLETE_COMMIT, True) | (TransactionState.COMPLETE_ABORT, False):
            return None
        case _:
            _refuse(transaction, commit)


def _ended_v2(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    new_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction | None:
    check_not_ending(transaction)
    # Every end bumps the epoch, so a repetition comes with the epoch before, or, where that was a
    # producer id's last, with that producer id.
    after_rotation = (
        producer_id == transaction.previous_producer_id
        and producer_epoch == LAST_EPOCH_OF_CLIENTS
        and transaction.producer_epoch == 0
    )
    is_repeated = after_rotation or transaction.producer_epoch == producer_epoch + 1
    if transaction.producer_id != producer_id and not after_rotation:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not _is_epoch_valid_v2(transaction, producer_epoch, is_repeated):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    match transaction.state, commit:
        case TransactionState.ONGOING, _:
            return bumped(transaction, new_producer_id, commit=commit, now_ms=now_ms)
        case TransactionState.EMPTY, False:
            pass
        case TransactionState.COMPLETE_COMMIT, False if not is_repeated:
            pass
        case TransactionState.COMPLETE_ABORT, False if not is_repeated:
            pass
        case TransactionState.COMPLETE_ABORT, False:
            return None
        case TransactionState.COMPLETE_COMMIT, True if is_repeated:
            return None
        case _:
            _refuse(transaction, commit)
    # The abort of a transaction that no partition was added to: only the epoch changes.
    return bumped(transaction, new_producer_id, commit=False, now_ms=now_ms)


def _is_epoch_valid_v2(transaction: Transaction, producer_epoch: int, is_repeated: bool) -> bool:
    if producer_epoch == transaction.producer_epoch:
        return True
    is_complete = transaction.state in (
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    )
    return is_complete and is_repeated


def bumped(
    transaction: Transaction, new_producer_id: Callable[[], int], *, commit: bool, now_ms: int
) -> Transaction:
    """The end of a transaction of the second generation, with the epoch after it.

    The last epoch of a producer id is used for its markers. After it comes another producer id.
    """
    is_ongoing = transaction.state is TransactionState.ONGOING
    return transaction.become(
        _prepared(commit),
        now_ms,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=transaction.producer_epoch,
        next_producer_id=new_producer_id() if transaction.is_epoch_exhausted else NO_PRODUCER_ID,
        start_timestamp_ms=transaction.start_timestamp_ms if is_ongoing else now_ms,
        client_version=VERSION_2,
    )


def fenced(
    transaction: Transaction,
    new_producer_id: Callable[[], int],
    *,
    server_version: int,
    now_ms: int,
) -> Transaction:
    """An ongoing transaction is aborted without its producer, whose epoch becomes stale with it.

    `server_version` is the level of the feature transaction.version.
    """
    if server_version >= VERSION_2:
        return bumped(transaction, new_producer_id, commit=False, now_ms=now_ms)
    return transaction.become(
        TransactionState.PREPARE_ABORT,
        now_ms,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=NO_PRODUCER_EPOCH,
        client_version=VERSION_1,
    )


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """Every partition has its marker."""
    is_commit = transaction.state is TransactionState.PREPARE_COMMIT
    state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    if transaction.client_version < VERSION_2:
        return transaction.become(state, now_ms, partitions=NO_PARTITIONS)
    producer_id, epoch = transaction.producer_id, transaction.producer_epoch
    if transaction.next_producer_id != NO_PRODUCER_ID:
        producer_id, epoch = transaction.next_producer_id, 0
    return transaction.become(
        state,
        now_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        partitions=NO_PARTITIONS,
    )


def _prepared(commit: bool) -> TransactionState:
    return TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT


def _refuse(transaction: Transaction, commit: bool) -> NoReturn:
    raise KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"{'commit' if commit else 'abort'} of {transaction.transactional_id}, which is "
        f"{transaction.state.title}",
    )
