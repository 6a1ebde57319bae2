"""A transactional producer for tests: one client, one transactional id, requests as they are
sent."""

from __future__ import annotations

from typing import Any

from kafkalite.clock import wall_clock_ms
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
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
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

NONE = ErrorCode.NONE
TOPIC = "words"
GROUP = "readers"


class Transactional:
    """Every method asks once and gives the answer's error code, unless it says otherwise."""

    def __init__(self, client: Any, transactional_id: str = "writer") -> None:
        self.client = client
        self.id = transactional_id
        self.producer_id = self.epoch = -1
        self.sequences: dict[int, int] = {}

    async def init(self, version: int = 5, timeout_ms: int = 60_000, **expected: int) -> ErrorCode:
        request = InitProducerIdRequest(
            transactional_id=self.id, transaction_timeout_ms=timeout_ms, **expected
        )
        answer = await self.client.ask(request, version)
        if not answer.error_code:
            self.take(answer)
        return ErrorCode(answer.error_code)

    def take(self, answer: Any) -> None:
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()

    async def find_coordinators(self) -> None:
        """This makes the internal topics."""
        for key_type, key in ((0, GROUP), (1, self.id)):
            await self.client.ask(FindCoordinatorRequest(key_type=key_type, key=key), 3)

    def production(self, value: bytes, partition: int) -> ProduceRequest:
        records = build_batch(
            [Record(timestamp=wall_clock_ms(), value=value)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequences.get(partition, 0),
            is_transactional=True,
        )
        data = PartitionProduceData(index=partition, records=records)
        return ProduceRequest(
            transactional_id=self.id,
            acks=-1,
            topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
        )

    async def produce(self, value: bytes, partition: int = 0, version: int = 12) -> ErrorCode:
        answer = await self.client.ask(self.production(value, partition), version)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE:
            self.sequences[partition] = self.sequences.get(partition, 0) + 1
        return code

    async def add(self, *partitions: int) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=list(partitions))],
        )
        answer = await self.client.ask(request, 3)
        (topic,) = answer.results_by_topic_v3_and_below
        return ErrorCode(topic.results_by_partition[0].partition_error_code)

    async def add_offsets(self) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=GROUP,
        )
        return ErrorCode((await self.client.ask(request)).error_code)

    def offsets(self, offset: int) -> TxnOffsetCommitRequest:
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        return TxnOffsetCommitRequest(
            transactional_id=self.id,
            group_id=GROUP,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
        )

    async def commit_offset(self, offset: int, version: int = 5) -> ErrorCode:
        answer = await self.client.ask(self.offsets(offset), version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def ending(self, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )

    async def end(self, *, commit: bool, version: int = 5) -> ErrorCode:
        answer = await self.client.ask(self.ending(commit=commit), version)
        if not answer.error_code and version >= 5:
            self.take(answer)
        return ErrorCode(answer.error_code)

    async def write(self, value: bytes, *, commit: bool, offset: int | None = None) -> None:
        """A whole transaction in both partitions."""
        for partition in (0, 1):
            assert await self.produce(value, partition) is ErrorCode.NONE
        if offset is not None:
            assert await self.commit_offset(offset) is ErrorCode.NONE
        assert await self.end(commit=commit) is ErrorCode.NONE

    async def state(self) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        (found,) = (await self.client.ask(request)).transaction_states
        return found.transaction_state or ErrorCode(found.error_code).name


async def read_committed(client: Any, partition: int = 0) -> list[bytes]:
    """The values a consumer shows with read_committed: it drops what the answer says was
    aborted."""
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        isolation_level=1,
        max_wait_ms=0,
        session_epoch=-1,
        topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
    )
    answer = (await client.ask(request, 12)).responses[0].partitions[0]
    assert answer.error_code == 0
    begins = sorted((a.first_offset, a.producer_id) for a in answer.aborted_transactions)
    aborted: set[int] = set()
    values: list[bytes] = []
    for batch in iterate_batches(answer.records):
        if batch.is_control:
            aborted.discard(batch.producer_id)
            continue
        while begins and begins[0][0] <= batch.base_offset:
            aborted.add(begins.pop(0)[1])
        if batch.producer_id not in aborted:
            values += [record.value or b"" for record in iterate_records(batch)]
    return values


async def end_offsets(client: Any, partition: int = 0) -> tuple[int, int]:
    """The high watermark and the last stable offset, as ListOffsets tells them."""
    found: list[int] = []
    for isolation_level in (0, 1):
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=TOPIC, partitions=[wanted])],
        )
        found.append((await client.ask(request, 7)).topics[0].partitions[0].offset)
    return found[0], found[1]


async def committed_offset(client: Any, *, require_stable: bool = False) -> int | ErrorCode:
    """The group's committed offset, or the error code that stands instead."""
    topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
    request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
    (partition,) = (await client.ask(request, 9)).groups[0].topics[0].partitions
    return ErrorCode(partition.error_code) if partition.error_code else partition.committed_offset
