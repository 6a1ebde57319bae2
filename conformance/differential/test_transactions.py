"""Transactions: every request in every state that lasts, of both generations, in every version."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.pair import Pair, error_codes
from conformance.differential.side import Side
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkalite.wire.records import Record, build_batch

SECONDS = 15
TIMESTAMP = int(time.time() * 1000)
# Not yet: there is no coordinator, or it loads.
NOT_YET = {14, 15, 16}


class Transactions:
    """One transactional id on both brokers, and what each calls its producer."""

    def __init__(self, pair: Pair, topic: str) -> None:
        self.pair = pair
        self.topic = topic
        self.id = f"id-{topic}"
        self.ids: dict[Side, tuple[int, int]] = {}
        self.sequences: dict[int, int] = {}
        pair.create_topic(topic, 2)
        self.be(self.id)

    def be(self, transactional_id: str) -> None:
        """Go on as this transactional id (and group), once both brokers have its coordinators."""
        self.id = transactional_id
        describe = DescribeTransactionsRequest(transactional_ids=[self.id])
        for side in self.sides:
            for key_type in (0, 1):
                request = FindCoordinatorRequest(key_type=key_type, key=self.id)
                until(side, ApiKey.FIND_COORDINATOR, 3, request)
            until(side, ApiKey.DESCRIBE_TRANSACTIONS, 0, describe)
            until(side, ApiKey.OFFSET_FETCH, 9, self.offset_request(require_stable=False))

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.pair.reference, self.pair.tested

    def take(self, answers: tuple[Any, Any]) -> None:
        """Go on with the producer id and epoch of the answers."""
        for side, answer in zip(self.sides, answers, strict=True):
            if answer.error_code == 0 and answer.producer_id >= 0:
                self.sequences.clear()
                self.ids[side] = answer.producer_id, answer.producer_epoch

    def ask(self, api: ApiKey, version: int, body: Callable[[Side], Any]) -> tuple[Any, Any]:
        return self.pair.ask(api, version, body)

    def state(self) -> tuple[Any, Any]:
        """Both states, compared, once no markers are missing any more."""
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        deadline = time.monotonic() + SECONDS
        while True:
            answers = [side.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request) for side in self.sides]
            states = [answer.transaction_states[0].transaction_state for answer in answers]
            if not any(state.startswith("Prepare") for state in states):
                break
            assert time.monotonic() < deadline, states
            time.sleep(0.01)
        for answer in answers:
            for each in answer.transaction_states[0].topics:
                each.partitions.sort()
        self.pair.compare("state", *answers)
        return answers[0], answers[1]

    def next_sequence(self, partition: int) -> int:
        """Sequences go on, until the epoch is another."""
        self.sequences[partition] = self.sequences.get(partition, -1) + 1
        return self.sequences[partition]

    # What can be asked; `bump` is added to the epoch, `other` to the producer id.

    def init(
        self,
        version: int = 5,
        *,
        expected: bool = False,
        bump: int = 0,
        other: int = 0,
        timeout_ms: int = 60_000,
    ) -> None:
        def body(side: Side) -> InitProducerIdRequest:
            request = InitProducerIdRequest(
                transactional_id=self.id, transaction_timeout_ms=timeout_ms
            )
            if expected:
                producer_id, epoch = self.ids[side]
                request.producer_id, request.producer_epoch = producer_id + other, epoch + bump
            return request

        # Apache Kafka's first producer id comes a little later.
        self.take(self.pair.ask(ApiKey.INIT_PRODUCER_ID, version, body, retry=14))

    def add(
        self,
        version: int,
        *,
        bump: int = 0,
        other: int = 0,
        verify: bool = False,
        partitions: tuple[int, ...] = (0,),
        topic: str = "",
    ) -> None:
        def body(side: Side) -> AddPartitionsToTxnRequest:
            producer_id, epoch = self.ids[side]
            topics = [
                AddPartitionsToTxnTopic(name=topic or self.topic, partitions=list(partitions))
            ]
            if version < 4:
                return AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id=self.id,
                    v3_and_below_producer_id=producer_id + other,
                    v3_and_below_producer_epoch=epoch + bump,
                    v3_and_below_topics=topics,
                )
            transaction = AddPartitionsToTxnTransaction(
                transactional_id=self.id,
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                verify_only=verify,
                topics=topics,
            )
            return AddPartitionsToTxnRequest(transactions=[transaction])

        self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, body)

    def add_offsets(self, version: int, *, bump: int = 0, other: int = 0) -> None:
        def body(side: Side) -> AddOffsetsToTxnRequest:
            producer_id, epoch = self.ids[side]
            return AddOffsetsToTxnRequest(
                transactional_id=self.id,
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                group_id=self.id,
            )

        self.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, body)

    def end(self, version: int, commit: bool, *, bump: int = 0, other: int = 0) -> None:
        def body(side: Side) -> EndTxnRequest:
            producer_id, epoch = self.ids[side]
            return EndTxnRequest(
                transactional_id=self.id,
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                committed=commit,
            )

        self.take(self.ask(ApiKey.END_TXN, version, body))

    def commit_offsets(
        self, version: int, *, bump: int = 0, other: int = 0, offset: int = 5, generation: int = -1
    ) -> None:
        def body(side: Side) -> TxnOffsetCommitRequest:
            producer_id, epoch = self.ids[side]
            partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
            topic = TxnOffsetCommitRequestTopic(name=self.topic, partitions=[partition])
            return TxnOffsetCommitRequest(
                transactional_id=self.id,
                group_id=self.id,
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                generation_id=generation,
                topics=[topic],
            )

        self.ask(ApiKey.TXN_OFFSET_COMMIT, version, body)

    def produce(
        self,
        version: int,
        *,
        bump: int = 0,
        other: int = 0,
        sequence: int = 0,
        partition: int = 0,
        transactional: bool = True,
    ) -> None:
        def body(side: Side) -> ProduceRequest:
            producer_id, epoch = self.ids[side]
            records = build_batch(
                [Record(timestamp=TIMESTAMP, value=b"value")],
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                base_sequence=sequence,
                is_transactional=transactional,
            )
            data = PartitionProduceData(index=partition, records=records)
            name = (
                {"topic_id": side.topic_id(self.topic)} if version >= 13 else {"name": self.topic}
            )
            return ProduceRequest(
                transactional_id=self.id if transactional else None,
                acks=-1,
                timeout_ms=5000,
                topic_data=[TopicProduceData(partition_data=[data], **name)],
            )

        self.ask(ApiKey.PRODUCE, version, body)

    # What can be seen

    def offset_request(self, *, require_stable: bool) -> OffsetFetchRequest:
        topic = OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id=self.id, topics=[topic])
        return OffsetFetchRequest(groups=[group], require_stable=require_stable)

    def offsets(self, *, require_stable: bool) -> None:
        self.pair.ask(ApiKey.OFFSET_FETCH, 9, self.offset_request(require_stable=require_stable))

    def fetch(self, version: int = 12) -> None:
        """What each isolation level sees, records left out: their ids and times differ."""
        for isolation_level in (0, 1):
            partitions = [
                FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
                for index in (0, 1)
            ]
            request = FetchRequest(
                isolation_level=isolation_level,
                max_wait_ms=0,
                session_epoch=-1,
                topics=[FetchTopic(topic=self.topic, partitions=partitions)],
            )
            answers = [side.ask(ApiKey.FETCH, version, request) for side in self.sides]
            for answer in answers:
                for topic in answer.responses:
                    for partition in topic.partitions:
                        partition.records = b"%d bytes" % len(partition.records)
            self.pair.compare("fetch", *answers)
            latest = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 1)]
            listing = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=[ListOffsetsTopic(name=self.topic, partitions=latest)],
            )
            self.pair.ask(ApiKey.LIST_OFFSETS, 7, listing)

    def producers(self) -> None:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=self.topic, partition_indexes=[0, 1])]
        )
        self.pair.ask(ApiKey.DESCRIBE_PRODUCERS, 0, request)

    def see_all(self) -> None:
        self.state()
        self.fetch()
        self.producers()
        self.offsets(require_stable=False)
        self.offsets(require_stable=True)


def until(side: Side, api: ApiKey, version: int, request: Any) -> None:
    deadline = time.monotonic() + SECONDS
    while error_codes(answer := side.ask(api, version, request)) & NOT_YET:
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


@pytest.fixture
def transactions(pair: Pair, topic: str) -> Transactions:
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
    "fenced while Ongoing": lambda t: (begin_v2(t), t.init()),  # type: ignore[func-returns-value]
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


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("state", STATES)
def test_every_request_in_every_state(
    pair: Pair, topic: str, state: str, request_name: str
) -> None:
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


@pytest.mark.parametrize("version", [0, 1, 2])
def test_listing(transactions: Transactions, version: int) -> None:
    t = transactions
    begin_v2(t)
    since = {"duration_filter": 10_000} if version >= 1 else {}
    pattern = {"transactional_id_pattern": f"{t.id}.*"} if version >= 2 else {}
    for filters in (
        {"state_filters": ["Ongoing", "Asleep"]},
        {"state_filters": ["Dead"], **pattern},
        {**since, "state_filters": ["Ongoing"]},
        *([pattern, {"transactional_id_pattern": "("}] if version >= 2 else []),
    ):
        t.ask(ApiKey.LIST_TRANSACTIONS, version, lambda _, f=filters: ListTransactionsRequest(**f))
    t.end(5, True)
    t.state()


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


LAST_EPOCH_OF_CLIENTS = 32766


def bump_to_the_last(t: Transactions) -> None:
    """Ask for epochs until there is one left, many at a time."""
    for side in t.sides:
        request = InitProducerIdRequest(transactional_id=t.id, transaction_timeout_ms=60_000)
        left = LAST_EPOCH_OF_CLIENTS - t.ids[side][1]
        while left:
            burst = min(left, 500)
            for _ in range(burst):
                side.send(ApiKey.INIT_PRODUCER_ID, 5, request)
            answers = [side.receive(ApiKey.INIT_PRODUCER_ID, 5) for _ in range(burst)]
            left -= burst
        t.ids[side] = answers[-1].producer_id, answers[-1].producer_epoch
        assert t.ids[side][1] == LAST_EPOCH_OF_CLIENTS


def test_the_epochs_of_a_producer_id_run_out(transactions: Transactions) -> None:
    """The last epochs: the producer id changes with the end of a transaction."""
    t = transactions
    bump_to_the_last(t)
    t.produce(12)
    t.end(5, True)
    t.see_all()
    t.produce(12)
    t.end(5, False)
    t.see_all()
