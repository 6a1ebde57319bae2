"""One transactional id and its transaction: a value, the table of its states, and what requests
make of it.

                    AddPartitionsToTxn           EndTxn                    markers written
    EMPTY ------------> ONGOING ------> PREPARE_COMMIT | PREPARE_ABORT ------> COMPLETE_COMMIT |
    COMPLETE_ABORT
      ^                   ^                                                          |      |
      |  InitProducerId   +----------------------------------------------------------+      |
      +-------------------------------------------------------------------------------------+

A transition makes a new value and changes nothing, so that it can be written to the log before it
is true. There is no state in between: the coordinator writes and adopts without a pause, hence
Kafka's PREPARE_EPOCH_FENCE and DEAD are never entered here. In Kafka a transaction that is
PREPARE_* is also pending: on its way to COMPLETE_*, which is looked at before who asks.

Two generations. V1: partitions are added by AddPartitionsToTxn, and an epoch lasts until the next
InitProducerId. V2 (KIP-890): Produce and TxnOffsetCommit add partitions themselves, and every end
of a transaction bumps the epoch, so that what comes late from the last one is refused. Source:
Kafka's TransactionMetadata and TransactionState; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext

# The largest epoch is kept for fencing: no client ever gets it.
MAX_EPOCH: Final = 2**15 - 1
LAST_EPOCH_OF_CLIENTS: Final = MAX_EPOCH - 1

VERSION_1: Final = 0  # what a client of the first generation is recorded as
VERSION_2: Final = 2

# The first versions whose clients know PRODUCER_FENCED.
_FENCED_SINCE: Final[Mapping[ApiKey, int]] = {
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 2,
    ApiKey.ADD_OFFSETS_TO_TXN: 2,
    ApiKey.END_TXN: 2,
}

Partitions = Mapping[str, frozenset[int]]
"""The partitions of a transaction: the indexes by topic, at least one of each."""

NO_PARTITIONS: Final[Partitions] = {}
_NO_INDEXES: Final[frozenset[int]] = frozenset()


class TopicPartition(NamedTuple):
    """A partition by name."""

    topic: str
    partition: int


class TransactionState(IntEnum):
    """Numbered as in the records of `__transaction_state`."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """The name in DescribeTransactions and ListTransactions."""
        return self.name.title().replace("_", "")


_S = TransactionState

# The states after each state. V2 may abort a transaction without partitions, to bump the epoch.
TRANSITIONS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.COMPLETE_COMMIT}),
    _S.PREPARE_ABORT: frozenset({_S.COMPLETE_ABORT}),
    _S.COMPLETE_COMMIT: frozenset({_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT}),
    _S.COMPLETE_ABORT: frozenset({_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT}),
    _S.DEAD: frozenset(),
    _S.PREPARE_EPOCH_FENCE: frozenset(),
}
ENDING: Final = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
# Nothing is open: the producer may begin, and an idle transactional id may be forgotten.
AT_REST: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})


class Transaction(Struct, frozen=True):
    """The state of a transactional id. Times are in milliseconds.

    `last_producer_epoch` is the epoch whose bump may be asked for again (KIP-360), and is not
    written; `next_producer_id` replaces a producer id whose epochs are used up, when its last
    transaction is complete. `previous_producer_id` is the one before.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: Partitions = NO_PARTITIONS
    start_timestamp_ms: int = NO_TIMESTAMP
    last_update_timestamp_ms: int = NO_TIMESTAMP
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = VERSION_1

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_EPOCH_OF_CLIENTS

    def is_timed_out(self, now_ms: int) -> bool:
        return (
            self.state is TransactionState.ONGOING
            and self.start_timestamp_ms + self.timeout_ms < now_ms
        )

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        """True if the transactional id was idle for so long that it may be forgotten."""
        return self.state in AT_REST and self.last_update_timestamp_ms <= now_ms - expiration_ms

    def become(self, state: TransactionState, now_ms: int, **changes: Any) -> Transaction:
        """The next value; a transition that is not in the table is our fault, and refused."""
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"{self.transactional_id}: {self.state.name} to {state.name}")
        return replace(self, state=state, last_update_timestamp_ms=now_ms, **changes)


def initialized(
    transaction: Transaction,
    *,
    timeout_ms: int,
    expected: tuple[int, int] | None,
    new_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction:
    """InitProducerId on an id at rest: the same producer id, one epoch on; or a new producer id.

    `expected` is the (producer id, epoch) of a client that recovers from an error: it must be the
    current one, or the last one if this is a repetition of what was done already (KIP-360).
    Raises KafkaError: CONCURRENT_TRANSACTIONS while the last one ends, PRODUCER_FENCED;
    UNKNOWN_SERVER_ERROR, as Apache Kafka, for another epoch than a producer id's last one.
    """
    check_not_ending(transaction)
    check_expected(transaction, expected)
    producer_id, epoch = transaction.producer_id, transaction.producer_epoch
    if transaction.is_epoch_exhausted:
        if expected is not None and expected[1] != epoch:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        producer_id = new_producer_id()
        next_epoch, last_epoch = 0, NO_PRODUCER_EPOCH if expected is None else epoch
    elif expected is None:
        next_epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch in (NO_PRODUCER_EPOCH, expected[1]):
        next_epoch, last_epoch = epoch + 1, epoch
    elif expected[1] == transaction.last_producer_epoch:
        next_epoch, last_epoch = epoch, transaction.last_producer_epoch
    else:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return transaction.become(
        TransactionState.EMPTY,
        now_ms,
        producer_id=producer_id,
        previous_producer_id=transaction.producer_id,
        producer_epoch=next_epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=NO_PARTITIONS,
        start_timestamp_ms=NO_TIMESTAMP,
    )


def check_expected(transaction: Transaction, expected: tuple[int, int] | None) -> None:
    """Raise KafkaError(PRODUCER_FENCED) for a client that recovers with another producer id.

    Its epoch is checked later.
    """
    if expected is None or transaction.producer_epoch == NO_PRODUCER_EPOCH:
        return
    producer_id, epoch = expected
    if producer_id == transaction.producer_id:
        return
    if producer_id != transaction.previous_producer_id or epoch < LAST_EPOCH_OF_CLIENTS:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


def check_not_ending(transaction: Transaction) -> None:
    """Raise KafkaError(CONCURRENT_TRANSACTIONS) until the last transaction is complete: its
    completion may change the producer id."""
    if transaction.state in ENDING:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)


def check_producer(transaction: Transaction, producer_id: int, producer_epoch: int) -> None:
    """Raise KafkaError unless the producer has the transactional id: INVALID_PRODUCER_ID_MAPPING,
    PRODUCER_FENCED."""
    if transaction.producer_id != producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


def code_of(refused: KafkaError, context: RequestContext) -> ErrorCode:
    """The code to answer a request with: older clients know no PRODUCER_FENCED (KIP-588)."""
    knows_fenced = context.api_version >= _FENCED_SINCE[context.api_key]
    if refused.code is ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return refused.code


def with_partitions(
    transaction: Transaction,
    partitions: Mapping[str, Collection[int]],
    *,
    client_version: int,
    now_ms: int,
) -> Transaction:
    """The transaction with these partitions, ongoing. Unchanged if it has them all already."""
    is_ongoing = transaction.state is TransactionState.ONGOING
    known = transaction.partitions
    if is_ongoing:
        for topic, indexes in partitions.items():
            if not known.get(topic, _NO_INDEXES).issuperset(indexes):
                break
        else:
            return transaction
    added = {
        topic: known.get(topic, _NO_INDEXES).union(indexes)
        for topic, indexes in partitions.items()
        if indexes
    }
    return transaction.become(
        TransactionState.ONGOING,
        now_ms,
        partitions={**known, **added},
        start_timestamp_ms=transaction.start_timestamp_ms if is_ongoing else now_ms,
        client_version=client_version,
    )
