"""One transactional id on two brokers: everything that can be asked of it, and all that can be
seen."""

import time
from collections.abc import Callable
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair, error_codes
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
from kafkalite.wire.record_batch import Record, build_batch

SECONDS = 15
TIMESTAMP = int(time.time() * 1000)
# The longest that there is: on a busy machine no transaction ends by the clock in between.
LONGEST_MS = 900_000
# Not yet: there is no coordinator, or it loads.
NOT_YET = {14, 15, 16}


class Transactions:
    """A transactional id on both brokers, and what each calls its producer; the topic is there."""

    def __init__(self, pair: Pair, topic: str, transactional_id: str = "") -> None:
        self.pair = pair
        self.topic = topic
        self.id = transactional_id or f"id-{topic}"
        self.ids: dict[Side, tuple[int, int]] = {}
        self.sequences: dict[int, int] = {}
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
        what = "DESCRIBE_TRANSACTIONS v0"
        self.pair.compare(what, *answers, api=ApiKey.DESCRIBE_TRANSACTIONS)
        return answers[0], answers[1]

    def _named(self, side: Side, version: int, name: str = "topic") -> dict[str, Any]:
        """The topic as a Fetch or Produce of this version has it."""
        return {"topic_id": side.topic_id(self.topic)} if version >= 13 else {name: self.topic}

    def next_sequence(self, partition: int, count: int = 1) -> int:
        """The first of so many sequences, which go on until the epoch is another."""
        first = self.sequences.get(partition, 0)
        self.sequences[partition] = first + count
        return first

    # The requests; `bump` is added to the epoch, `other` to the producer id.

    def init(
        self,
        version: int = 5,
        *,
        expected: bool = False,
        bump: int = 0,
        other: int = 0,
        timeout_ms: int = LONGEST_MS,
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
        named = {topic or self.topic: [partitions]}
        self.add_several(version, named, verify=verify, bump=bump, other=other)

    def add_several(
        self,
        version: int,
        named: dict[str, list[tuple[int, ...]]],
        *,
        bump: int = 0,
        other: int = 0,
        verify: bool = False,
    ) -> None:
        """Each topic as often as there are partitions named for it."""
        topics = [
            AddPartitionsToTxnTopic(name=name, partitions=list(partitions))
            for name, pieces in named.items()
            for partitions in pieces
        ]

        def body(side: Side) -> AddPartitionsToTxnRequest:
            producer_id, epoch = self.ids[side]
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
        count: int = 1,
        transactional: bool = True,
    ) -> None:
        def body(side: Side) -> ProduceRequest:
            producer_id, epoch = self.ids[side]
            records = build_batch(
                [Record(timestamp=TIMESTAMP, value=b"value")] * count,
                producer_id=producer_id + other,
                producer_epoch=epoch + bump,
                base_sequence=sequence,
                is_transactional=transactional,
            )
            data = PartitionProduceData(index=partition, records=records)
            name = self._named(side, version, "name")
            return ProduceRequest(
                transactional_id=self.id if transactional else None,
                acks=-1,
                timeout_ms=5000,
                topic_data=[TopicProduceData(partition_data=[data], **name)],
            )

        self.ask(ApiKey.PRODUCE, version, body)

    # Observations

    def offset_request(self, *, require_stable: bool) -> OffsetFetchRequest:
        topic = OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id=self.id, topics=[topic])
        return OffsetFetchRequest(groups=[group], require_stable=require_stable)

    def offsets(self, *, require_stable: bool) -> None:
        self.pair.ask(ApiKey.OFFSET_FETCH, 9, self.offset_request(require_stable=require_stable))

    def fetch(self, version: int = 12) -> None:
        """The view of each isolation level, and the ends of both partitions."""
        for isolation_level in (0, 1):
            self.fetch_within(1 << 20, 1 << 20, version, isolation_level)
            latest = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 1)]
            listing = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=[ListOffsetsTopic(name=self.topic, partitions=latest)],
            )
            self.pair.ask(ApiKey.LIST_OFFSETS, 7, listing)

    def fetch_within(
        self,
        max_bytes: int,
        partition_max_bytes: int,
        version: int = 12,
        isolation_level: int = 1,
        offset: int = 0,
    ) -> None:
        """Both partitions within these limits."""
        partitions = [
            FetchPartition(
                partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes
            )
            for index in (0, 1)
        ]

        def body(side: Side) -> FetchRequest:
            return FetchRequest(
                isolation_level=isolation_level,
                max_wait_ms=0,
                max_bytes=max_bytes,
                session_epoch=-1,
                topics=[FetchTopic(partitions=partitions, **self._named(side, version))],
            )

        self.pair.ask(ApiKey.FETCH, version, body)

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
