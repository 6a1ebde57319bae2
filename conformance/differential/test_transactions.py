"""Transactions: every request in every state that lasts, of both generations, in every version."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


@pytest.fixture
def transactions(pair: Pair, topic: str) -> Transactions:
    pair.create_topic(topic, 2)
    made = Transactions(pair, topic)
    made.init()
    return made


def begin_v1(t: Transactions) -> None:
    t.add(3)
    t.produce(11)


def begin_v2(t: Transactions) -> None:
    t.produce(12)


def ended(begin: Callable[[Transactions], None], version: int, commit: bool) -> Any:
    def make(t: Transactions) -> None:
        begin(t)
        t.end(version, commit)

    return make


STATES: dict[str, Callable[[Transactions], None]] = {
    "Empty": lambda t: None,
    "Ongoing v1": begin_v1,
    "Ongoing v2": begin_v2,
    "CompleteCommit v1": ended(begin_v1, 4, True),
    "CompleteAbort v1": ended(begin_v1, 4, False),
    "CompleteCommit v2": ended(begin_v2, 5, True),
    "CompleteAbort v2": ended(begin_v2, 5, False),
    "aborted v2 with nothing in it": lambda t: t.end(5, False),
    "fenced while Ongoing": lambda t: (begin_v2(t), t.init()),
}

PRODUCERS: dict[str, dict[str, int]] = {
    "current": {},
    "epoch before": {"bump": -1},
    "epoch after": {"bump": 1},
    "other producer id": {"other": 1_000_000},
}

Request = Callable[..., None]
REQUESTS: dict[str, Request] = {
    **{
        f"AddPartitionsToTxn v{v}": lambda t, v=v, **who: t.add(v, partitions=(0, 1), **who)
        for v in (0, 1, 2, 3, 4, 5)
    },
    "AddPartitionsToTxn v5, verify": lambda t, **who: t.add(5, verify=True, **who),
    **{
        f"AddOffsetsToTxn v{v}": lambda t, v=v, **who: t.add_offsets(v, **who)
        for v in (0, 1, 2, 3, 4)
    },
    **{
        f"EndTxn v{v} {'commit' if commit else 'abort'}": (
            lambda t, v=v, commit=commit, **who: t.end(v, commit, **who)
        )
        for v in (0, 1, 2, 3, 4, 5)
        for commit in (True, False)
    },
    **{
        f"TxnOffsetCommit v{v}": lambda t, v=v, **who: t.commit_offsets(v, **who)
        for v in (0, 1, 2, 3, 4, 5)
    },
    **{
        f"Produce v{v}": lambda t, v=v, **who: t.produce(v, partition=1, **who)
        for v in (3, 9, 10, 11, 12, 13)
    },
    **{
        f"InitProducerId v{v}": lambda t, v=v, **who: t.init(v, expected=v >= 3, **who)
        for v in (0, 1, 2, 3, 4, 5)
    },
}


# Their rules are those of the version before; the fields are compared in all versions elsewhere.
LIKE_THE_VERSION_BEFORE = frozenset(
    {
        *("AddPartitionsToTxn v1", "AddPartitionsToTxn v3"),
        *("AddOffsetsToTxn v1", "AddOffsetsToTxn v3"),
        *("EndTxn v1 commit", "EndTxn v1 abort", "EndTxn v3 commit", "EndTxn v3 abort"),
        *("TxnOffsetCommit v1", "Produce v10", "InitProducerId v1"),
    }
)
REQUEST_NAMES = [
    pytest.param(name, marks=pytest.mark.long if name in LIKE_THE_VERSION_BEFORE else ())
    for name in REQUESTS
]


@pytest.mark.parametrize("request_name", REQUEST_NAMES)
@pytest.mark.parametrize("state", STATES)
def test_every_request_in_every_state(
    pair: Pair, topic: str, state: str, request_name: str
) -> None:
    pair.create_topic(topic, 2)
    t = Transactions(pair, topic)
    for producer, who in PRODUCERS.items():
        t.be(f"{topic}-{producer}")
        t.init()
        if producer != "epoch before":
            # an epoch that can be before another
            t.init()
        STATES[state](t)
        t.state()
        if who and request_name in ("InitProducerId v0", "InitProducerId v1", "InitProducerId v2"):
            continue
        REQUESTS[request_name](t, **who)
        t.state()


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("timeout_ms", [0, -1, 900_000, 900_001])
def test_timeouts(transactions: Transactions, timeout_ms: int, version: int) -> None:
    transactions.init(version, timeout_ms=timeout_ms)


@pytest.mark.parametrize("version", range(6))
def test_topics_named_twice_or_without_partitions(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 2)
    t = Transactions(pair, topic)
    t.init()
    pair.create_topic(f"{topic}-too", 2)
    for bump in (0, 1):
        for verify in (False, True) if version > 3 else (False,):
            for named in (
                {topic: [(0,)], f"{topic}-too": [()]},
                {f"{topic}-too": [()]},
                {topic: [(0,), (1,)], f"{topic}-too": [(0,)]},
                {topic: [(7,), (0,)], f"{topic}-too": [()]},
                # which brokers may name
                {topic: [(0,), (7,)], "__transaction_state": [(0,), (99,)]},
            ):
                t.add_several(version, named, verify=verify, bump=bump)


@pytest.mark.parametrize("generation", [1, 2])
def test_what_is_seen_at_every_step(transactions: Transactions, generation: int) -> None:
    """Isolation, pending offsets and producers, through a commit, an abort and a fencing."""
    t = transactions
    produce_version = 11 if generation == 1 else 12
    commit_version = 4 if generation == 1 else 5
    for commit in (True, False, True):
        if generation == 1:
            t.add(3, partitions=(0, 1))
            t.add_offsets(3)
        for partition in (0, 1):
            t.produce(produce_version, partition=partition, sequence=t.next_sequence(partition))
        t.see_all()
        t.commit_offsets(commit_version, offset=10 + commit)
        t.see_all()
        t.end(commit_version, commit)
        t.see_all()
    if generation == 1:
        t.add(3)
    t.produce(produce_version, sequence=t.next_sequence(0))
    t.init()
    t.see_all()
    t.init()
    t.see_all()


@pytest.mark.parametrize("version", [4, 11, 12, 13, 18])
@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("max_bytes", [0, 1, 70, 100, 150, 10_000])
def test_aborted_transactions_within_limits(
    transactions: Transactions, max_bytes: int, offset: int, version: int
) -> None:
    """A batch that does not fit comes without a list of them, no room at all with one."""
    t = transactions
    for count in (1, 3):
        for partition in (0, 1):
            sequence = t.next_sequence(partition, count)
            t.produce(12, partition=partition, count=count, sequence=sequence)
        t.end(5, commit=False)
        t.state()
    t.fetch_within(max_bytes, 1 << 20, version, offset=offset)
    t.fetch_within(1 << 20, max_bytes, version, offset=offset)


def listed(t: Transactions, version: int, **filters: Any) -> None:
    """Only this producer's: others time out, on one broker a little earlier than on the other."""

    def body(side: Side) -> ListTransactionsRequest:
        return ListTransactionsRequest(producer_id_filters=[t.ids[side][0]], **filters)

    t.ask(ApiKey.LIST_TRANSACTIONS, version, body)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_listing(transactions: Transactions, version: int) -> None:
    t = transactions
    for side in t.sides:
        side.names.prefix = t.id  # what others left open ends by the clock
    begin_v2(t)
    listed(t, version)
    listed(t, version, state_filters=["Ongoing", "Asleep"])
    listed(t, version, state_filters=["Dead"])
    if version >= 1:
        time.sleep(0.005)  # 0 is: begun in a millisecond before this one
        listed(t, version, duration_filter=10_000)
        listed(t, version, duration_filter=0)
    t.end(5, True)
    t.state()


# RE2's syntax: \pL is not in Python's, and what looks ahead or back is not in RE2's.
PATTERNS = ["id-.*", "id", r"\pL+-.*", "id-(?i)TOPIC.*", "id-(?=t).*", r"(i)d-.*\1", "(", ""]


def test_listing_by_pattern(transactions: Transactions) -> None:
    t = transactions
    for pattern in (t.id, *PATTERNS):
        listed(t, 2, transactional_id_pattern=pattern)


@pytest.mark.parametrize("version", [1, 2])
def test_markers_by_hand(transactions: Transactions, version: int) -> None:
    t = transactions
    t.init()
    begin_v2(t)
    for bump, partition, coordinator_epoch in (
        (0, 7, 0),
        (-1, 0, 0),
        (0, 0, 5),
        (1, 0, 5),
        (1, 0, 4),
        (0, 1, 0),
    ):

        def body(
            side: Side,
            bump: int = bump,
            partition: int = partition,
            coordinator_epoch: int = coordinator_epoch,
        ) -> WriteTxnMarkersRequest:
            producer_id, epoch = t.ids[side]
            marker = WritableTxnMarker(
                producer_id=producer_id,
                producer_epoch=epoch + bump,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=t.topic, partition_indexes=[partition])],
                coordinator_epoch=coordinator_epoch,
                transaction_version=2 if version >= 2 else 0,
            )
            return WriteTxnMarkersRequest(markers=[marker])

        t.ask(ApiKey.WRITE_TXN_MARKERS, version, body)
        t.fetch()
        t.producers()
