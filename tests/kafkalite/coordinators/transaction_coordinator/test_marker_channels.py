"""Markers to other brokers: after the decision is safe, together, and until they are there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.coordinators.standing import Standing
from kafkalite.coordinators.transaction_coordinator.marker_channels import MarkerChannels
from kafkalite.coordinators.transaction_coordinator.markers import Ending
from kafkalite.coordinators.transaction_coordinator.transaction import (
    TopicPartition,
    Transaction,
    TransactionState,
)
from kafkalite.peers.link import Address
from kafkalite.requests.slices import at_once
from kafkalite.requests.topic_names import TRANSACTIONS_TOPIC
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.kafkalite.replica.replicated import ME, OTHER, THIRD, Replicated, replicated
from tests.kafkalite.replication.model_controller import versions_of
from tests.kafkalite.replication.virtual_network import Network

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
B_ID = UUID(int=12)
ANSWER_SECONDS = 0.5


class Leader:
    """Answers after a while, with the codes that it is told to, each once, then with none."""

    def __init__(self) -> None:
        self.codes: list[ErrorCode] = []
        self.asked: list[WriteTxnMarkersRequest] = []

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        answer: Any = versions_of([ApiVersionsRequest, WriteTxnMarkersRequest])
        if isinstance(request.body, WriteTxnMarkersRequest):
            self.asked.append(request.body)
            await trio.sleep(ANSWER_SECONDS)
            answer = self.answer(request.body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    def answer(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index, error_code=code
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )


class World:
    """Broker 1 coordinates; 2 leads a-0, and 3 leads b-0."""

    def __init__(self, replicas: Replicated, nursery: trio.Nursery) -> None:
        self.replicas = replicas
        # Its id is the one that `change` means.
        self.state = replicas.create(ME, ME, OTHER, name=TRANSACTIONS_TOPIC)
        replicas.create(OTHER, OTHER, THIRD, name="a", topic_id=UUID(int=11))
        replicas.create(THIRD, THIRD, OTHER, name="b", topic_id=B_ID)
        self.network = Network(Random(1), nursery)
        self.leaders = {OTHER: Leader(), THIRD: Leader()}
        for node_id, leader in self.leaders.items():
            self.network.serve(node_id, leader.serve)
        self.channels = MarkerChannels(
            replicas.topics, lambda node_id: Address("", node_id), 2, self.network.connect_from(ME)
        )
        self.sent: list[int] = []
        nursery.start_soon(self.channels.run)

    def end(self, producer_id: int, *partitions: TopicPartition) -> Ending:
        """Decide, and have the markers sent."""
        self.state.append_trusted([(b"key", b"decision")], 1)
        decision = Standing(self.state)
        decision.decided()
        transaction = Transaction(
            f"id-{producer_id}", producer_id, 3, 1000, TransactionState.PREPARE_COMMIT
        )
        ending = Ending(transaction, decision, set(partitions))
        self.send(ending)
        return ending

    def send(self, ending: Ending) -> None:
        producer_id = ending.transaction.producer_id
        at_once(self.channels.sending(ending, lambda ended: self.sent.append(producer_id)))

    def copy(self) -> None:
        """The follower has everything."""
        replica = self.state.replica
        assert replica is not None
        assert replica.leading is not None
        replica.leading.fetched(OTHER, replica.log.log_end_offset, 0, 10 + OTHER)
        self.state.changed()

    def asked(self, node_id: int) -> list[list[int]]:
        """The producer ids of each request."""
        return [[each.producer_id for each in one.markers] for one in self.leaders[node_id].asked]


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], Any]:
    @asynccontextmanager
    async def made() -> AsyncIterator[World]:
        with replicated(tmp_path) as replicas:
            async with trio.open_nursery() as nursery:
                yield World(replicas, nursery)
                nursery.cancel_scope.cancel()

    return made


async def test_no_marker_goes_out_before_the_decision_is_replicated(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    async with make() as world:
        ending = world.end(5, A, B)
        await trio.sleep(10)
        assert (world.asked(OTHER), world.asked(THIRD), world.sent) == ([], [], [])
        world.copy()
        await trio.sleep(2)
        assert (world.asked(OTHER), world.asked(THIRD), world.sent) == ([[5]], [[5]], [5])
        (marker,) = world.leaders[OTHER].asked[0].markers
        assert (marker.producer_epoch, marker.transaction_result) == (3, True)
        assert marker.coordinator_epoch == world.state.leader_epoch
        assert not ending.missing


async def test_the_markers_of_many_transactions_go_together(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    async with make() as world:
        world.end(1, A)
        world.copy()
        await trio.sleep(0.2)
        for producer_id in (2, 3, 4):
            world.end(producer_id, A)
        world.copy()
        await trio.sleep(3)
        first, second = world.asked(OTHER)
        assert (first, sorted(second), sorted(world.sent)) == ([1], [2, 3, 4], [1, 2, 3, 4])


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    ],
)
async def test_what_fails_is_tried_again_alone(
    make: Callable[[], Any], autojump_clock: MockClock, code: ErrorCode
) -> None:
    async with make() as world:
        world.leaders[OTHER].codes = [code, code]
        world.end(5, A, B)
        world.copy()
        await trio.sleep(1)
        assert (world.asked(THIRD), world.sent) == ([[5]], [])
        await trio.sleep(2)
        assert (world.asked(OTHER), world.asked(THIRD), world.sent) == ([[5]] * 3, [[5]], [5])


async def test_a_partition_that_has_seen_a_later_epoch_needs_none(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    async with make() as world:
        world.leaders[OTHER].codes = [ErrorCode.INVALID_PRODUCER_EPOCH]
        world.end(5, A)
        world.copy()
        await trio.sleep(3)
        assert (world.asked(OTHER), world.sent) == ([[5]], [5])


async def test_a_broker_that_is_gone_is_waited_for_and_a_deleted_topic_is_not(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    async with make() as world:
        world.network.stop(THIRD)
        world.end(5, A, B)
        world.copy()
        await trio.sleep(5)
        assert (world.asked(OTHER), world.sent) == ([[5]], [])
        world.replicas.commit(RemoveTopicRecord(topic_id=B_ID))
        await trio.sleep(1)
        assert world.sent == [5]


async def test_a_coordinator_that_resigns_sends_no_more(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    async with make() as world:
        world.leaders[OTHER].codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3
        world.end(5, A)
        world.copy()
        await trio.sleep(0.3)
        world.replicas.change(leader=OTHER)
        await trio.sleep(5)
        assert (world.asked(OTHER), world.sent) == ([[5]], [])


async def test_what_is_under_way_is_not_sent_twice(
    make: Callable[[], Any], autojump_clock: MockClock
) -> None:
    """Nor if the coordinator tries again meanwhile. When all are there, it hears so again."""
    async with make() as world:
        ending = world.end(5, A)
        world.send(ending)
        world.copy()
        await trio.sleep(0.2)
        world.send(ending)
        await trio.sleep(3)
        assert (world.asked(OTHER), world.sent) == ([[5]], [5])
        world.send(ending)
        assert world.sent == [5, 5]
