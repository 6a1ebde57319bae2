"""The rules of Kafka's controllers, as short as they can be: what brokers are to obey.

One topic, decisions one at a time, a metadata log whose end is not committed at once and may be
truncated when another controller takes over. Source: ReplicationControlManager,
PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

import trio

from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import (
    alter_partition,
    api_versions,
    broker_heartbeat,
    broker_registration,
    fetch,
)
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.stored.no_op_record import NoOpRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.schema import message_of

CONTROLLER_ID = 3000
PORT = 3000
SESSION_SECONDS = 3.0
TOPIC_ID = UUID(int=77)
TOPIC = "topic"
SERVED = (
    api_versions.ApiVersionsRequest,
    fetch.FetchRequest,
    broker_registration.BrokerRegistrationRequest,
    broker_heartbeat.BrokerHeartbeatRequest,
    alter_partition.AlterPartitionRequest,
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
    """The active controller. `committed_end` is the high watermark of its log."""

    def __init__(self, random: Random, brokers: Sequence[int], partitions: int, min_isr: int):
        self.random = random
        self.min_isr = min_isr
        self.epoch = 1
        self.brokers: dict[int, Registered] = {}
        self.states = [
            State(replicas := [*brokers[i:], *brokers[:i]], list(replicas), -1)
            for i in (index % len(brokers) for index in range(partitions))
        ]
        self.batches: list[bytes] = []
        self.ends: list[int] = []
        self.end = 0
        self.committed_end = 0
        self.changed = trio.Event()
        self.deciding = trio.Lock()

    # -- the log

    async def write(self, records: Sequence[object]) -> bool:
        """Append, and commit a little later; False if another controller truncated it."""
        epoch = self.epoch
        self.append(records)
        await trio.sleep(self.random.choice((0.0, 0.005, 0.05)))
        if epoch != self.epoch:
            return False
        self.committed_end = self.end
        self.notify()
        return True

    def append(self, records: Sequence[object]) -> None:
        batch = build_batch(
            [Record(timestamp=0, value=encode(record)) for record in records],
            base_offset=self.end,
            partition_leader_epoch=self.epoch,
        )
        self.batches.append(batch)
        self.end += len(records)
        self.ends.append(self.end)
        self.notify()

    def fail_over(self) -> None:
        """Another controller: what was not committed is gone, other records take its place."""
        while self.end > self.committed_end:
            self.batches.pop()
            self.ends.pop()
            self.end = self.ends[-1] if self.ends else 0
        self.epoch += 1
        self.append([NoOpRecord()])
        self.committed_end = self.end
        self.notify()

    def notify(self) -> None:
        changed, self.changed = self.changed, trio.Event()
        changed.set()

    # -- serving

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        handle = {
            fetch.FetchRequest: self.fetch,
            broker_registration.BrokerRegistrationRequest: self.register,
            broker_heartbeat.BrokerHeartbeatRequest: self.heartbeat,
            alter_partition.AlterPartitionRequest: self.alter,
        }.get(type(request.body))
        answer: Any = versions_of(SERVED) if handle is None else await handle(request.body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    async def fetch(self, request: fetch.FetchRequest) -> fetch.FetchResponse:
        wanted = request.topics[0].partitions[0]
        with trio.move_on_after(request.max_wait_ms / 1000):
            while (
                wanted.current_leader_epoch == self.epoch
                and wanted.fetch_offset == self.end
                and wanted.high_watermark >= self.committed_end
            ):
                await self.changed.wait()
        data = fetch.PartitionData(
            partition_index=0,
            error_code=0,
            high_watermark=self.committed_end,
            current_leader=fetch.LeaderIdAndEpoch(leader_id=CONTROLLER_ID, leader_epoch=self.epoch),
            records=b"",
        )
        if wanted.current_leader_epoch != self.epoch:
            data.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif not self.is_mine(wanted.fetch_offset, wanted.last_fetched_epoch):
            data.diverging_epoch = self.diverging(wanted)
        else:
            data.records = b"".join(
                batch
                for batch, end in zip(self.batches, self.ends, strict=True)
                if end > wanted.fetch_offset
            )
        return fetch.FetchResponse(
            error_code=0,
            responses=[fetch.FetchableTopicResponse(topic_id=UUID(int=1), partitions=[data])],
            node_endpoints=[fetch.NodeEndpoint(node_id=CONTROLLER_ID, host="", port=PORT)],
        )

    def epoch_before(self, offset: int) -> int:
        for batch, end in zip(self.batches, self.ends, strict=True):
            if end == offset:
                return int.from_bytes(batch[12:16], "big")
        return 0 if offset == 0 else -1

    def is_mine(self, offset: int, epoch: int) -> bool:
        return self.epoch_before(offset) == epoch

    def diverging(self, wanted: fetch.FetchPartition) -> fetch.EpochEndOffset:
        ends = [
            (int.from_bytes(batch[12:16], "big"), end)
            for batch, end in zip(self.batches, self.ends, strict=True)
            if int.from_bytes(batch[12:16], "big") <= wanted.last_fetched_epoch
        ]
        epoch, end = ends[-1] if ends else (0, 0)
        return fetch.EpochEndOffset(epoch=epoch, end_offset=end)

    async def register(
        self, request: broker_registration.BrokerRegistrationRequest
    ) -> broker_registration.BrokerRegistrationResponse:
        response = broker_registration.BrokerRegistrationResponse
        async with self.deciding:
            known = self.brokers.get(request.broker_id)
            if known is not None and not known.fenced:
                return response(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
            epoch = self.end
            is_clean = known is not None and request.previous_broker_epoch == known.epoch
            if not await self.write([NoOpRecord()]):
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
            caught_up = request.current_metadata_offset >= known.epoch
            if known.fenced and caught_up and not request.want_fence:
                known.fenced = False
                await self.change_all()
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

    async def run(self) -> None:
        """Fence who is silent."""
        await self.write(
            [TopicRecord(name=TOPIC, topic_id=TOPIC_ID), *map(self.record, range(len(self.states)))]
        )
        while True:
            await trio.sleep(0.2)
            async with self.deciding:
                now = trio.current_time()
                silent = [
                    each
                    for each in self.brokers.values()
                    if not each.fenced and now - each.heard_at > SESSION_SECONDS
                ]
                for each in silent:
                    each.fenced = True
                if silent:
                    await self.change_all()

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

    async def change_all(self, *, unclean: int | None = None) -> None:
        records: list[object] = []
        for index, state in enumerate(self.states):
            before = (list(state.isr), state.leader, list(state.elr))
            self.change(state, unclean)
            if before != (state.isr, state.leader, state.elr):
                records.append(self.record(index))
        while records and not await self.write(records):
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
                    removed = [each for each in before if each not in state.isr]
                    state.elr = [] if len(state.isr) >= self.min_isr else [*state.elr, *removed]
                    records.append(self.record(asked.partition_index))
                results.append((asked.partition_index, code))
            while records and not await self.write(records):
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
