"""The rules of Kafka's controllers, as short as they can be: what brokers are to obey.

One topic, decisions one at a time. Source: ReplicationControlManager, PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

import trio

from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import (
    allocate_producer_ids,
    alter_partition,
    api_versions,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    envelope,
    fetch,
)
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.register_broker_record import (
    BrokerEndpoint,
    RegisterBrokerRecord,
)
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.schema import message_of
from tests.kafkalite.replication.model_metadata_log import PORT, MetadataLog

SESSION_SECONDS = 3.0
TOPIC_ID = UUID(int=77)
TOPIC = "topic"
SERVED = (
    api_versions.ApiVersionsRequest,
    fetch.FetchRequest,
    broker_registration.BrokerRegistrationRequest,
    broker_heartbeat.BrokerHeartbeatRequest,
    alter_partition.AlterPartitionRequest,
    allocate_producer_ids.AllocateProducerIdsRequest,
    assign_replicas_to_dirs.AssignReplicasToDirsRequest,
    envelope.EnvelopeRequest,
)


def versions_of(served: Sequence[type[Any]]) -> api_versions.ApiVersionsResponse:
    messages = [message_of(each) for each in served]
    return api_versions.ApiVersionsResponse(
        error_code=0,
        api_keys=[
            api_versions.ApiVersion(
                api_key=each.key, min_version=each.min_version, max_version=each.max_version
            )
            for each in messages
        ],
    )


@dataclass
class Registered:
    epoch: int
    heard_at: float
    fenced: bool = True
    leaving: bool = False
    offline_directories: list[UUID] = field(default_factory=list[UUID])


@dataclass
class State:
    """A partition, as committed."""

    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: list[int] = field(default_factory=list)
    last_known: int = -1


class Controller:
    """The active controller, and its log."""

    def __init__(
        self,
        random: Random,
        brokers: Sequence[int],
        partitions: int,
        min_isr: int,
        port: int = PORT,
    ) -> None:
        self.port = port
        self.random = random
        self.min_isr = min_isr
        self.log = MetadataLog(random, port)
        self.brokers: dict[int, Registered] = {}
        self.states = [
            State(replicas := [*brokers[i:], *brokers[:i]], list(replicas), -1)
            for i in (index % len(brokers) for index in range(partitions))
        ]
        self.deciding = trio.Lock()
        self.next_producer_id = 0
        self.assigned: dict[tuple[int, int], UUID] = {}
        self.envelopes: list[envelope.EnvelopeRequest] = []
        # The replicas (broker, partition) that a power cut took something from, until they are in
        # sync again. `loses`: one of them leads, as the last known leader.
        self.incomplete: set[tuple[int, int]] = set()
        self.loses: Callable[[], None] = lambda: None

    # -- serving

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        handle = {
            fetch.FetchRequest: self.log.fetch,
            broker_registration.BrokerRegistrationRequest: self.register,
            broker_heartbeat.BrokerHeartbeatRequest: self.heartbeat,
            alter_partition.AlterPartitionRequest: self.alter,
            allocate_producer_ids.AllocateProducerIdsRequest: self.producer_ids,
            assign_replicas_to_dirs.AssignReplicasToDirsRequest: self.assign,
            envelope.EnvelopeRequest: self.forwarded,
        }.get(type(request.body))
        answer: Any = versions_of(SERVED) if handle is None else await handle(request.body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    async def register(
        self, request: broker_registration.BrokerRegistrationRequest
    ) -> broker_registration.BrokerRegistrationResponse:
        response = broker_registration.BrokerRegistrationResponse
        async with self.deciding:
            known = self.brokers.get(request.broker_id)
            if known is not None and not known.fenced:
                return response(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
            epoch = self.log.end
            is_clean = known is not None and request.previous_broker_epoch == known.epoch
            if not await self.log.write([registration_record(request, epoch)]):
                return response(error_code=ErrorCode.NOT_CONTROLLER)
            self.brokers[request.broker_id] = Registered(epoch, trio.current_time())
            if not is_clean and known is not None:
                await self.change_all(unclean=request.broker_id)
            return response(error_code=0, broker_epoch=epoch)

    async def heartbeat(
        self, request: broker_heartbeat.BrokerHeartbeatRequest
    ) -> broker_heartbeat.BrokerHeartbeatResponse:
        response = broker_heartbeat.BrokerHeartbeatResponse
        async with self.deciding:
            known = self.brokers.get(request.broker_id)
            if known is None or known.epoch != request.broker_epoch:
                return response(error_code=ErrorCode.STALE_BROKER_EPOCH)
            known.heard_at = trio.current_time()
            known.offline_directories = request.offline_log_dirs
            caught_up = request.current_metadata_offset >= known.epoch
            if known.fenced and caught_up and not request.want_fence:
                known.fenced = False
                await self.change_all([fencing(request.broker_id, known, fenced=-1)])
            if request.want_shut_down:
                known.leaving = True
                await self.change_all()
            leads = any(state.leader == request.broker_id for state in self.states)
            return response(
                error_code=0,
                is_caught_up=caught_up,
                is_fenced=known.fenced,
                should_shut_down=request.want_shut_down and not leads,
            )

    async def producer_ids(self, request: Any) -> Any:
        self.next_producer_id += 1000
        return allocate_producer_ids.AllocateProducerIdsResponse(
            producer_id_start=self.next_producer_id - 1000, producer_id_len=1000
        )

    async def assign(self, request: Any) -> Any:
        for directory in request.directories:
            for topic in directory.topics:
                for each in topic.partitions:
                    self.assigned[request.broker_id, each.partition_index] = directory.id
        return assign_replicas_to_dirs.AssignReplicasToDirsResponse()

    async def forwarded(self, request: envelope.EnvelopeRequest) -> envelope.EnvelopeResponse:
        """Keeps what came; the answer is an error of the envelope's own."""
        self.envelopes.append(request)
        return envelope.EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    async def run(self) -> None:
        """Fence who is silent."""
        await self.log.write(
            [TopicRecord(name=TOPIC, topic_id=TOPIC_ID), *map(self.record, range(len(self.states)))]
        )
        while True:
            await trio.sleep(0.2)
            async with self.deciding:
                now = trio.current_time()
                silent = {
                    broker_id: each
                    for broker_id, each in self.brokers.items()
                    if not each.fenced and now - each.heard_at > SESSION_SECONDS
                }
                for each in silent.values():
                    each.fenced = True
                if silent:
                    await self.change_all([fencing(*each, fenced=1) for each in silent.items()])

    # -- partitions

    def is_active(self, broker_id: int) -> bool:
        known = self.brokers.get(broker_id)
        return known is not None and not known.fenced and not known.leaving

    def record(self, index: int) -> PartitionRecord:
        state = self.states[index]
        return PartitionRecord(
            partition_id=index,
            topic_id=TOPIC_ID,
            replicas=state.replicas,
            isr=state.isr,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
        )

    async def change_all(
        self, of_brokers: Sequence[object] = (), *, unclean: int | None = None
    ) -> None:
        records: list[object] = list(of_brokers)
        for index, state in enumerate(self.states):
            before = (list(state.isr), state.leader, list(state.elr))
            self.change(state, unclean)
            if before != (state.isr, state.leader, state.elr):
                records.append(self.record(index))
        while records and not await self.log.write(records):
            pass  # the next controller decides the same

    def change(self, state: State, unclean: int | None) -> None:
        was = list(state.isr), state.leader, list(state.elr)
        alive = [each for each in state.isr if self.is_active(each)]
        if unclean is not None:
            state.elr = [each for each in state.elr if each != unclean]
            alive = [each for each in alive if each != unclean]
        gone = [each for each in state.isr if each not in alive and each != unclean]
        if state.isr and not alive and len(state.isr) == 1:
            state.last_known = state.isr[0]
        if len(alive) < self.min_isr:
            state.elr = [*state.elr, *(each for each in gone if each not in state.elr)]
        else:
            state.elr = []
        state.isr = alive
        if state.leader not in state.isr:
            self.elect(state)
        if was != (state.isr, state.leader, state.elr):
            state.partition_epoch += 1

    def elect(self, state: State) -> None:
        candidates = state.isr or state.elr or [state.last_known]
        chosen = [each for each in state.replicas if each in candidates and self.is_active(each)]
        leader = chosen[0] if chosen else -1
        index = next(number for number, each in enumerate(self.states) if each is state)
        if leader not in (*state.isr, *state.elr) and (leader, index) in self.incomplete:
            self.loses()
        if leader != state.leader:
            state.leader_epoch += 1
            if state.leader >= 0:
                state.last_known = state.leader
        state.leader = leader
        if leader >= 0 and leader not in state.isr:
            state.isr = [leader]
            state.elr = [each for each in state.elr if each != leader]

    async def alter(
        self, request: alter_partition.AlterPartitionRequest
    ) -> alter_partition.AlterPartitionResponse:
        response = alter_partition.AlterPartitionResponse
        async with self.deciding:
            known = self.brokers.get(request.broker_id)
            if known is None or known.epoch != request.broker_epoch:
                return response(error_code=ErrorCode.STALE_BROKER_EPOCH)
            results, records = [], []
            for asked in request.topics[0].partitions:
                code = self.judge(request.broker_id, asked)
                state = self.states[asked.partition_index]
                if code is ErrorCode.NONE:
                    before, state.isr = state.isr, asked_isr(asked)
                    state.partition_epoch += 1
                    self.incomplete -= {(each, asked.partition_index) for each in state.isr}
                    removed = [each for each in before if each not in state.isr]
                    state.elr = [] if len(state.isr) >= self.min_isr else [*state.elr, *removed]
                    records.append(self.record(asked.partition_index))
                results.append((asked.partition_index, code))
            while records and not await self.log.write(records):
                pass
        return response(
            error_code=0,
            topics=[
                alter_partition.TopicData(
                    topic_id=TOPIC_ID, partitions=[self.result(*each) for each in results]
                )
            ],
        )

    def result(self, index: int, code: ErrorCode) -> alter_partition.PartitionData:
        state = self.states[index]
        return alter_partition.PartitionData(
            partition_index=index,
            error_code=code,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            partition_epoch=state.partition_epoch,
        )

    def judge(self, broker_id: int, asked: alter_partition.PartitionDataRequest) -> ErrorCode:
        state = self.states[asked.partition_index]
        members = asked_isr(asked)
        if asked.leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if state.leader != broker_id or broker_id not in members:
            return ErrorCode.INVALID_REQUEST
        if asked.partition_epoch < state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for each in asked.new_isr_with_epochs:
            known = self.brokers.get(each.broker_id)
            if not self.is_active(each.broker_id) or known is None:
                return ErrorCode.INELIGIBLE_REPLICA
            if each.broker_epoch not in (-1, known.epoch):
                return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.NONE


def asked_isr(asked: alter_partition.PartitionDataRequest) -> list[int]:
    return [each.broker_id for each in asked.new_isr_with_epochs]


def fencing(broker_id: int, known: Registered, *, fenced: int) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=known.epoch, fenced=fenced
    )


def registration_record(
    request: broker_registration.BrokerRegistrationRequest, epoch: int
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ],
        rack=request.rack,
        log_dirs=request.log_dirs,
    )
