"""The transaction's state machine: every state, every request, as Apache Kafka 4.3.1 answers it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from kafkalite.coordinators.transaction_coordinator.end import completed, ended, fenced
from kafkalite.coordinators.transaction_coordinator.state_log import transaction_of, value_of
from kafkalite.coordinators.transaction_coordinator.transaction import (
    ENDING,
    MAX_EPOCH,
    TRANSITIONS,
    Transaction,
    TransactionState,
    check_not_ending,
    check_producer,
    initialized,
    with_partitions,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.messages.stored.transaction_log import TransactionLogValue

EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
STATES = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)

FENCED = ErrorCode.PRODUCER_FENCED
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
ILLEGAL = ErrorCode.INVALID_TXN_STATE
UNMAPPED = ErrorCode.INVALID_PRODUCER_ID_MAPPING

NEW_ID = 99
WORDS = {"words": frozenset({0})}
MORE = {"words": frozenset({1}), "numbers": frozenset({0})}

# The producer is 7, its epoch 5, the one before 4: what became of it is (state, producer id,
# epoch), or the code it was refused with, or None for "done already".
Outcome = tuple[TransactionState, int, int] | ErrorCode | None


def transaction(state: TransactionState, epoch: int = 5, **fields: object) -> Transaction:
    has_partitions = state not in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)
    settings: dict[str, object] = {
        "state": state,
        "partitions": WORDS if has_partitions else {},
        "start_timestamp_ms": -1 if state is EMPTY else 1000,
        "last_update_timestamp_ms": 1000,
        "last_producer_epoch": epoch - 1,
        "previous_producer_id": 7,
    }
    return Transaction("id", 7, epoch, 60_000, **(settings | fields))


def init(expected: tuple[int, int] | None) -> Callable[[Transaction], Transaction]:
    return lambda current: initialized(
        current, timeout_ms=1, expected=expected, new_producer_id=lambda: NEW_ID, now_ms=2000
    )


def add(producer_id: int, epoch: int) -> Callable[[Transaction], Transaction]:
    def adding(current: Transaction) -> Transaction:
        check_not_ending(current)
        check_producer(current, producer_id, epoch)
        return with_partitions(current, MORE, client_version=0, now_ms=2000)

    return adding


def end(
    version: int, commit: bool, producer_id: int = 7, epoch: int = 5
) -> Callable[[Transaction], Transaction | None]:
    return lambda current: ended(
        current,
        producer_id,
        epoch,
        commit=commit,
        client_version=version,
        new_producer_id=lambda: NEW_ID,
        now_ms=2000,
    )


TABLE: dict[str, tuple[Callable[[Transaction], Transaction | None], list[Outcome]]] = {
    # request: (what, outcome in EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_*)
    "init": (
        init(None),
        [(EMPTY, 7, 6), None, CONCURRENT, CONCURRENT, (EMPTY, 7, 6), (EMPTY, 7, 6)],
    ),
    "init with the epoch": (
        init((7, 5)),
        [(EMPTY, 7, 6), None, CONCURRENT, CONCURRENT, (EMPTY, 7, 6), (EMPTY, 7, 6)],
    ),
    "init again with the epoch before": (
        init((7, 4)),
        [(EMPTY, 7, 5), None, CONCURRENT, CONCURRENT, (EMPTY, 7, 5), (EMPTY, 7, 5)],
    ),
    "init with an old epoch": (
        init((7, 3)),
        [FENCED, None, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "init with another producer id": (
        init((8, 5)),
        [FENCED, None, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "add": (
        add(7, 5),
        [
            (ONGOING, 7, 5),
            (ONGOING, 7, 5),
            CONCURRENT,
            CONCURRENT,
            (ONGOING, 7, 5),
            (ONGOING, 7, 5),
        ],
    ),
    "add with an old epoch": (
        add(7, 4),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "add with a later epoch": (
        add(7, 6),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "add with another producer id": (
        add(8, 5),
        [UNMAPPED, UNMAPPED, CONCURRENT, CONCURRENT, UNMAPPED, UNMAPPED],
    ),
    "commit v1": (
        end(0, True),
        [ILLEGAL, (PREPARE_COMMIT, 7, 5), CONCURRENT, CONCURRENT, None, ILLEGAL],
    ),
    "abort v1": (
        end(0, False),
        [ILLEGAL, (PREPARE_ABORT, 7, 5), CONCURRENT, CONCURRENT, ILLEGAL, None],
    ),
    "commit v1 with an old epoch": (end(0, True, epoch=4), [FENCED] * 6),
    "abort v1 with a later epoch": (end(0, False, epoch=6), [FENCED] * 6),
    "commit v1 with another producer id": (end(0, True, 8), [UNMAPPED] * 6),
    "commit v2": (
        end(2, True),
        [ILLEGAL, (PREPARE_COMMIT, 7, 6), CONCURRENT, CONCURRENT, ILLEGAL, ILLEGAL],
    ),
    "abort v2": (
        end(2, False),
        [
            (PREPARE_ABORT, 7, 6),
            (PREPARE_ABORT, 7, 6),
            CONCURRENT,
            CONCURRENT,
            (PREPARE_ABORT, 7, 6),
            (PREPARE_ABORT, 7, 6),
        ],
    ),
    "commit v2 again": (
        end(2, True, epoch=4),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, None, ILLEGAL],
    ),
    "abort v2 again": (
        end(2, False, epoch=4),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, ILLEGAL, None],
    ),
    "commit v2 with an old epoch": (
        end(2, True, epoch=3),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "abort v2 with a later epoch": (
        end(2, False, epoch=6),
        [FENCED, FENCED, CONCURRENT, CONCURRENT, FENCED, FENCED],
    ),
    "abort v2 with another producer id": (
        end(2, False, 8),
        [UNMAPPED, UNMAPPED, CONCURRENT, CONCURRENT, UNMAPPED, UNMAPPED],
    ),
}
CASES = [
    pytest.param(what, state, outcome, id=f"{name} in {state.title}")
    for name, (what, outcomes) in TABLE.items()
    for state, outcome in zip(STATES, outcomes, strict=True)
    if not (name.startswith("init") and state is ONGOING)
]


@pytest.mark.parametrize(("what", "state", "outcome"), CASES)
def test_every_request_in_every_state(
    what: Callable[[Transaction], Transaction | None], state: TransactionState, outcome: Outcome
) -> None:
    current = transaction(state)
    if isinstance(outcome, ErrorCode):
        with pytest.raises(KafkaError) as refused:
            what(current)
        assert refused.value.code is outcome
    else:
        result = what(current)
        seen = result and (result.state, result.producer_id, result.producer_epoch)
        assert seen == outcome


@pytest.mark.parametrize(("before", "after"), [*itertools.product(TransactionState, repeat=2)])
def test_no_transition_that_is_not_in_the_table(
    before: TransactionState, after: TransactionState
) -> None:
    current = transaction(before)
    if after in TRANSITIONS[before]:
        assert current.become(after, 2000).state is after
    else:
        with pytest.raises(AssertionError):
            current.become(after, 2000)


def test_the_epochs_of_a_producer_id_run_out_at_init() -> None:
    last = transaction(EMPTY, MAX_EPOCH - 1)
    renewed = init(None)(last)
    assert (renewed.producer_id, renewed.producer_epoch) == (NEW_ID, 0)
    assert renewed.previous_producer_id == 7
    # The answer may have been lost: a producer that recovers asks again with what it had.
    kept = init((7, MAX_EPOCH - 1))(init((7, MAX_EPOCH - 1))(last))
    assert (kept.producer_id, kept.producer_epoch) == (NEW_ID, 0)


@pytest.mark.parametrize("epoch", [0, MAX_EPOCH - 2])
def test_only_the_last_epoch_goes_on_from_itself(epoch: int) -> None:
    """A producer that was fenced with its producer id's last epoch but one cannot recover."""
    last = transaction(EMPTY, MAX_EPOCH - 1, last_producer_epoch=MAX_EPOCH - 2)
    with pytest.raises(KafkaError, match=ErrorCode.UNKNOWN_SERVER_ERROR.name):
        init((7, epoch))(last)


def test_the_epochs_of_a_producer_id_run_out_at_the_end_of_a_transaction() -> None:
    last = transaction(ONGOING, MAX_EPOCH - 1)
    prepared = end(2, True, epoch=MAX_EPOCH - 1)(last)
    assert prepared is not None
    # The markers take the epoch that no client ever has.
    assert (prepared.producer_id, prepared.producer_epoch) == (7, MAX_EPOCH)
    done = completed(prepared, 3000)
    assert (done.producer_id, done.producer_epoch) == (NEW_ID, 0)
    assert (done.previous_producer_id, done.next_producer_id) == (7, -1)
    assert end(2, True, epoch=MAX_EPOCH - 1)(done) is None
    with pytest.raises(KafkaError, match=ErrorCode.INVALID_TXN_STATE.name):
        end(2, False, epoch=MAX_EPOCH - 1)(done)


@pytest.mark.parametrize("state", sorted(ENDING))
@pytest.mark.parametrize("version", [0, 2])
def test_complete_when_the_markers_are_written(state: TransactionState, version: int) -> None:
    done = completed(transaction(state, client_version=version), 3000)
    assert done.state is (COMPLETE_COMMIT if state is PREPARE_COMMIT else COMPLETE_ABORT)
    assert (done.producer_id, done.producer_epoch) == (7, 5)
    assert not done.partitions


@pytest.mark.parametrize("version", [1, 2])
def test_fencing_leaves_the_producer_behind(version: int) -> None:
    result = fenced(transaction(ONGOING), lambda: NEW_ID, server_version=version, now_ms=2000)
    assert (result.state, result.producer_epoch) == (PREPARE_ABORT, 6)
    with pytest.raises(KafkaError, match=FENCED.name):
        end(0, True)(completed(result, 2000))
    # With transactions v2 the producer that was too slow may take up its id again (KIP-890).
    if version == 2:
        assert init((7, 5))(completed(result, 2000)).producer_epoch == 6
    else:
        with pytest.raises(KafkaError, match=FENCED.name):
            init((7, 5))(completed(result, 2000))


def test_a_transaction_lasts_from_its_first_partition() -> None:
    begun = with_partitions(transaction(EMPTY), WORDS, client_version=2, now_ms=10_000)
    more = with_partitions(begun, MORE, client_version=2, now_ms=20_000)
    assert more.partitions == {"words": {0, 1}, "numbers": {0}}
    assert more.start_timestamp_ms == 10_000
    assert not more.is_timed_out(70_000)
    assert more.is_timed_out(70_001)
    assert with_partitions(more, WORDS, client_version=2, now_ms=30_000) is more
    assert with_partitions(more, {"none": ()}, client_version=2, now_ms=30_000) is more


def test_a_topic_without_partitions_begins_a_transaction_and_is_not_in_it() -> None:
    begun = with_partitions(transaction(EMPTY), {"none": ()}, client_version=0, now_ms=10_000)
    assert (begun.state, begun.partitions) == (ONGOING, {})


@pytest.mark.parametrize("state", STATES)
def test_only_what_rests_expires(state: TransactionState) -> None:
    rests = state in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)
    assert transaction(state).is_expired(1500, 500) is rests
    assert not transaction(state).is_expired(1499, 500)


@pytest.mark.parametrize("state", STATES)
def test_what_is_written_is_what_is_read(state: TransactionState) -> None:
    current = transaction(state, next_producer_id=NEW_ID, client_version=2)
    read = transaction_of("id", decode(TransactionLogValue, value_of(current)))
    assert read.last_producer_epoch == -1  # Kafka does not write it either
    assert read == transaction(
        state, next_producer_id=NEW_ID, client_version=2, last_producer_epoch=-1
    )
