"""A transaction coordinator on another broker, over a network in virtual time."""

from __future__ import annotations

from random import Random
from typing import Any

import trio

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.coordinators.transaction_joins import TransactionJoins
from kafkalite.peers.link import Address
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import api_versions
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tests.kafkalite.replication.model_controller import versions_of
from tests.kafkalite.replication.virtual_network import Network

COORDINATOR, LEADER = 1, 2
SECONDS = 3.0
ONE, TWO = TopicPartition("t", 0), TopicPartition("u", 1)


class Coordinator:
    """Says what it is told to, after half a second."""

    def __init__(self) -> None:
        self.asked: list[AddPartitionsToTxnRequest] = []
        self.codes: dict[TopicPartition, ErrorCode] = {}
        self.error = ErrorCode.NONE

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        answer: Any = versions_of([api_versions.ApiVersionsRequest, AddPartitionsToTxnRequest])
        if isinstance(request.body, AddPartitionsToTxnRequest):
            self.asked.append(request.body)
            await trio.sleep(0.5)
            answer = self.answer(request.body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    def answer(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        if self.error:
            return AddPartitionsToTxnResponse(error_code=self.error)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(
                                    partition_index=index,
                                    partition_error_code=self.codes.get(
                                        TopicPartition(topic.name, index), ErrorCode.NONE
                                    ),
                                )
                                for index in topic.partitions
                            ],
                        )
                        for topic in each.topics
                    ],
                )
                for each in request.transactions
            ]
        )


class World:
    def __init__(self, nursery: trio.Nursery) -> None:
        self.network = Network(Random(1), nursery)
        self.coordinator = Coordinator()
        self.network.serve(COORDINATOR, self.coordinator.serve)
        self.joins = TransactionJoins(
            lambda transactional_id: None if transactional_id == "lost" else Address("", 1),
            SECONDS,
            self.network.connect_from(LEADER),
        )

    async def join(self, name: str = "a", *, adds: bool = False) -> list[ErrorCode]:
        codes = await self.joins.join(Producer(name, 5, 0), [ONE, TWO], adds=adds)
        return [codes[ONE], codes[TWO]]
