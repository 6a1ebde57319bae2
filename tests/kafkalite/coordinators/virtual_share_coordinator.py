"""A share coordinator on another broker, over a network in virtual time."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from kafkalite.coordinators.latest_offsets import LatestOffsets
from kafkalite.coordinators.share_persister import SharePersister
from kafkalite.coordinators.share_state_requests import ShareStateRequests
from kafkalite.peers.link import Address
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import (
    api_versions,
    list_offsets,
)
from kafkalite.wire.messages import (
    delete_share_group_state as deleting,
)
from kafkalite.wire.messages import (
    initialize_share_group_state as initializing,
)
from kafkalite.wire.messages import (
    read_share_group_state as reading,
)
from kafkalite.wire.messages import (
    read_share_group_state_summary as summing_up,
)
from kafkalite.wire.messages import (
    write_share_group_state as writing,
)
from tests.kafkalite.replication.model_controller import versions_of
from tests.kafkalite.replication.virtual_network import Network

COORDINATOR, ASKER = 1, 2
SECONDS = 3.0
READ_ID = UUID(int=5)
KEY = SharePartitionKey("g", READ_ID, 0)
STATE_EPOCH, LEADER_EPOCH, DONE_COUNT = 4, 6, 2
# The request, the answer, and the parts of it.
APIS: dict[type[Any], tuple[type[Any], type[Any], type[Any]]] = {
    initializing.InitializeShareGroupStateRequest: (
        initializing.InitializeShareGroupStateResponse,
        initializing.InitializeStateResult,
        initializing.PartitionResult,
    ),
    reading.ReadShareGroupStateRequest: (
        reading.ReadShareGroupStateResponse,
        reading.ReadStateResult,
        reading.PartitionResult,
    ),
    writing.WriteShareGroupStateRequest: (
        writing.WriteShareGroupStateResponse,
        writing.WriteStateResult,
        writing.PartitionResult,
    ),
    deleting.DeleteShareGroupStateRequest: (
        deleting.DeleteShareGroupStateResponse,
        deleting.DeleteStateResult,
        deleting.PartitionResult,
    ),
    summing_up.ReadShareGroupStateSummaryRequest: (
        summing_up.ReadShareGroupStateSummaryResponse,
        summing_up.ReadStateSummaryResult,
        summing_up.PartitionResult,
    ),
}


class Coordinator:
    """Keeps what is asked, and start offsets; answers after half a second with the next code."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.codes: list[ErrorCode] = []
        self.kept: dict[tuple[UUID, int], int] = {}
        self.ends: list[list_offsets.ListOffsetsRequest] = []

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        body: Any = request.body
        if isinstance(body, api_versions.ApiVersionsRequest):
            answer: Any = versions_of([type(body), list_offsets.ListOffsetsRequest, *APIS])
        elif isinstance(body, list_offsets.ListOffsetsRequest):
            self.ends.append(body)
            answer = ends(body)
        else:
            self.asked.append(body)
            await trio.sleep(0.5)
            answer = self.answer(body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    def answer(self, request: Any) -> Any:
        response, of_topic, of_partition = APIS[type(request)]
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        results: list[Any] = []
        for topic in request.topics:
            parts: list[Any] = []
            for part in topic.partitions:
                result = of_partition(partition=part.partition, error_code=code)
                parts.append(result)
                if not code:
                    self.do((topic.topic_id, part.partition), part, result)
            results.append(of_topic(topic_id=topic.topic_id, partitions=parts))
        return response(results=results)

    def do(self, where: tuple[UUID, int], part: Any, result: Any) -> None:
        """Do as asked for one share partition."""
        if isinstance(part, initializing.PartitionData | writing.PartitionData):
            self.kept[where] = part.start_offset
        elif isinstance(part, deleting.PartitionData):
            self.kept.pop(where, None)
        else:
            result.start_offset = self.kept.get(where, -1)
            result.state_epoch = STATE_EPOCH
        if isinstance(result, summing_up.PartitionResult):
            result.leader_epoch, result.delivery_complete_count = LEADER_EPOCH, DONE_COUNT


def ends(request: list_offsets.ListOffsetsRequest) -> list_offsets.ListOffsetsResponse:
    """The ends are 100 times the length of the topic's name; partition 1 is led elsewhere."""
    return list_offsets.ListOffsetsResponse(
        topics=[
            list_offsets.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    list_offsets.ListOffsetsPartitionResponse(
                        partition_index=each.partition_index,
                        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER
                        if each.partition_index == 1
                        else ErrorCode.NONE,
                        offset=100 * len(topic.name),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class World:
    """`address` is the coordinator's as far as the asker knows."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.network = Network(Random(1), nursery)
        self.coordinator = Coordinator()
        self.network.serve(COORDINATOR, self.coordinator.serve)
        self.address: Address | None = Address("", COORDINATOR)
        connect = self.network.connect_from(ASKER)
        self.requests = ShareStateRequests(lambda key: self.address, SECONDS, connect)
        partitions = [SimpleNamespace(leader_id=node_id) for node_id in (1, 1, -1, 9)]
        topic = SimpleNamespace(name="read", partitions=partitions)
        topics: Any = SimpleNamespace(by_id={READ_ID: topic}.get)
        self.latest_offsets = LatestOffsets(
            topics, lambda node: None if node < 0 else Address("", node), SECONDS, connect
        )
        self.persister = SharePersister(self.requests, self.latest_offsets)
        nursery.start_soon(self.persister.run)
