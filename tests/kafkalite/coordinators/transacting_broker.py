"""A broker of the simulation that coordinates transactions, and holds the partitions of some."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import trio

from kafkalite.apis import APIS
from kafkalite.coordinators.transaction_coordinator.coordinator import (
    Producer,
    TransactionConfig,
    TransactionCoordinator,
)
from kafkalite.coordinators.transaction_coordinator.marker_channels import MarkerChannels
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_joins import FirstAppend, TransactionJoins, join_all
from kafkalite.peers.link import Address
from kafkalite.replica.pending_append import AwaitedAppend, until_seen
from kafkalite.requests.topic_names import TRANSACTIONS_TOPIC
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.rows import message_of_row, rows_of
from tests.kafkalite.coordinators.asked_broker import PATIENCE_SECONDS, AskedBroker, topic_with
from tests.kafkalite.replication import serving
from tests.kafkalite.replication.model_controller import versions_of

OUT = "out"
SERVED = (*serving.SERVED, AddPartitionsToTxnRequest, WriteTxnMarkersRequest)
INIT_VERSION, END_VERSION = 5, 5
TIMEOUT_MS = 5000
CONFIG = TransactionConfig(60_000, 10**9, 1000, 10**8)

Identity = tuple[int, int]
"""A producer's id and epoch."""


def now_ms() -> int:
    return 1_700_000_000_000 + round(trio.current_time() * 1000)


class TransactingBroker(AskedBroker):
    """The first partition is that of `__transaction_state`, the others are those of `out`."""

    def named(self, index: int) -> tuple[str, int]:
        return (OUT, index - 1) if index else (TRANSACTIONS_TOPIC, 0)

    def begin(self) -> None:
        topics: Any = SimpleNamespace(get=self.topic)
        connect = self.network.connect_from(self.node_id)
        self.markers = MarkerChannels(topics, self.address_of, PATIENCE_SECONDS, connect)
        self.joins = TransactionJoins(
            lambda transactional_id: self.address_of(self.partitions[0].leader_id),
            PATIENCE_SECONDS,
            connect,
        )
        self.transactions = TransactionCoordinator(
            CONFIG,
            TransactionLog(topics, now_ms, lambda: 2),
            self.markers,
            now_ms=now_ms,
            new_producer_id=self.new_producer_id,
            server_version=lambda: 2,
            load=self.load,
        )
        self.services = SimpleNamespace(
            topics=topics,
            cluster=SimpleNamespace(has_producer_id=lambda node_id: True),
            transaction_coordinator=self.transactions,
            group_coordinator=None,
            now_ms=now_ms,
            config=SimpleNamespace(integer=lambda name: round(PATIENCE_SECONDS * 1000)),
        )
        self.network.serve(self.node_id, self.serve)
        super().begin()

    def topic(self, name: str) -> Any:
        partitions = self.partitions[:1] if name == TRANSACTIONS_TOPIC else self.partitions[1:]
        return topic_with(name, partitions) if partitions else None

    def new_producer_id(self, node_id: int) -> int:
        self.controller.next_producer_id += 1
        return self.controller.next_producer_id

    def address_of(self, node_id: int) -> Address | None:
        return None if node_id < 0 else Address("", node_id)

    async def work(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.load_for_ever)
            nursery.start_soon(self.markers.run)
            await nursery.start(self.transactions.run)

    def change(self, record: PartitionRecord) -> None:
        super().change(record)
        self.transactions.leaders_changed()

    # -- other brokers

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        if isinstance(request.body, ApiVersionsRequest):
            answer: Any = versions_of(SERVED)
        elif isinstance(request.body, SERVED[-2:]):
            try:
                answer = await self.ask(request.api_key, request.api_version, request.body)
            except KafkaError:  # it has gone meanwhile
                await trio.sleep_forever()
        else:
            return await self.serving.serve(frame)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    # -- clients, of transactions v2

    async def ask(self, key: ApiKey, version: int, request: object) -> Any:
        """The same in messages, whether or not the handler takes rows."""
        if not APIS[key].rows:
            return await super().ask(key, version, request)
        row = await super().ask(key, version, rows_of(request))
        return message_of_row(response_class(key), row)

    async def init(self, name: str) -> Identity:
        """Raises KafkaError."""
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=TIMEOUT_MS)
        return identity_in(await self.ask(ApiKey.INIT_PRODUCER_ID, INIT_VERSION, request))

    async def end(self, name: str, identity: Identity, *, commit: bool) -> Identity:
        """Raises KafkaError."""
        producer_id, epoch = identity
        request = EndTxnRequest(
            transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=commit
        )
        return identity_in(await self.ask(ApiKey.END_TXN, END_VERSION, request))

    async def write(self, name: str, identity: Identity, index: int, value: bytes) -> None:
        """One record in a transaction. Raises KafkaError."""
        life = self.scope
        self.check_alive(life)
        partition = self.partitions[1 + index]
        producer_id, epoch = identity
        partition.check_leader(self.node_id, -1, leader_only=True)
        append = FirstAppend(partition, Producer(name, producer_id, epoch), 0)
        joined = await join_all(
            self.joins, [append], adds=True, pause_seconds=0.02, patience_seconds=0.2
        )
        self.check_alive(life)
        partition.check_leader(self.node_id, -1, leader_only=True)
        batch = build_batch(
            [Record(timestamp=now_ms(), value=value)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            is_transactional=True,
        )
        info = partition.append(batch, verification_guard=joined.guard_of(partition))
        awaited = AwaitedAppend(partition, info.last_offset)
        await until_seen([awaited], self.node_id, trio.current_time() + PATIENCE_SECONDS)
        self.check_alive(life)
        state = awaited.state(self.node_id)
        if state is not ErrorCode.NONE:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT if state is None else state)


def identity_in(answer: Any) -> Identity:
    """Raises KafkaError."""
    if answer.error_code:
        raise KafkaError(ErrorCode(answer.error_code))
    return answer.producer_id, answer.producer_epoch
