"""Coordinators on other brokers are asked before a transaction's first batch; virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.apis import APIS
from kafkalite.clock import SystemClock
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.coordinators.group_coordinator_adapter import TopicNames
from kafkalite.coordinators.transaction_coordinator.coordinator import (
    TransactionConfig,
    TransactionCoordinator,
)
from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.joined_writes import JoinedWrites
from kafkalite.requests.suspension import has_to_wait
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.server.transaction_gate import transaction_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.coordinators.asked_broker import Connection
from tests.kafkalite.coordinators.virtual_coordinator import World
from tests.kafkalite.replica.replicated import ME, Replicated, replicated

# The last version of Produce whose clients add partitions by themselves.
V1, V2 = 11, 12
OFFSETS_V1, OFFSETS_V2 = 4, 5
HERE, OFFSETS = TopicPartition("t", 0), TopicPartition(OFFSETS_TOPIC, 0)
VERIFIES = "transaction.partition.verification.enable"


class Leader:
    """Leads a partition of `t`, and coordinates groups; transactions are coordinated elsewhere."""

    def __init__(self, replicated: Replicated, world: World) -> None:
        self.coordinator = world.coordinator
        self.partition = replicated.create(ME, ME)
        self.offsets = replicated.create(ME, ME, name=OFFSETS_TOPIC, topic_id=UUID(int=9))
        topics, clock = replicated.topics, SystemClock(now_ms=lambda: 1)
        self.groups = GroupCoordinator(
            GroupConfig(),
            ConsumerOffsetsLog(topics, clock.now_ms),
            TopicNames(topics, replicated.cluster),
            clock=clock,
        )
        self.config = replicated.cluster.config
        self.services: Any = SimpleNamespace(
            topics=topics,
            config=self.config,
            now_ms=clock.now_ms,
            group_coordinator=self.groups,
            joined_writes=JoinedWrites(),
            # It coordinates nothing, and is one, as the compiled build takes nothing else.
            transaction_coordinator=TransactionCoordinator(
                TransactionConfig(60_000, 10**9, 10**9, 10**9),
                TransactionLog(topics, clock.now_ms, lambda: 2),
                MarkerWriter(topics, self.groups, clock.now_ms),
                now_ms=clock.now_ms,
                new_producer_id=lambda node_id: 5,
                server_version=lambda: 2,
            ),
        )
        self.gate = transaction_gate(world.joins)

    async def _ask(self, key: ApiKey, version: int, request: Any) -> Any:
        handle = self.gate(APIS[key], APIS[key].load())
        context = SimpleNamespace(
            node_id=ME,
            api_version=version,
            request_bytes=100,
            client_id="c",
            client_host="127.0.0.1",
            connection=Connection(),
            guard_of=None,
        )
        answer = handle(self.services, context, request)
        return await answer if has_to_wait(answer) else answer

    async def produce(
        self, version: int, *, transactional_id: str | None = "a", sequence: int = 0
    ) -> ErrorCode:
        is_transactional = transactional_id is not None
        batch = build_batch(
            [Record(timestamp=1, value=b"v")],
            producer_id=5,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        request = (transactional_id, -1, 1000, [("t", NO_UUID, [(0, batch)])])
        answer = await self._ask(ApiKey.PRODUCE, version, request)
        return ErrorCode(answer[0][0][2][0][1])

    async def commit(self, version: int) -> ErrorCode:
        request = ("a", "g", 5, 0, -1, "", None, [("t", [(0, 7, -1, "")])])
        _, ((_, ((_, code),)),) = await self._ask(ApiKey.TXN_OFFSET_COMMIT, version, request)
        return ErrorCode(code)

    def end_transaction(self) -> None:
        marker = build_end_transaction_marker(
            producer_id=5, producer_epoch=0, commit=False, coordinator_epoch=0, timestamp=1
        )
        for partition in (self.partition, self.offsets):
            partition.append(marker, origin=AppendOrigin.COORDINATOR)


@pytest.fixture
async def leader(tmp_path: Path, nursery: trio.Nursery) -> Iterator[Leader]:
    with replicated(tmp_path) as made:
        leader = Leader(made, World(nursery))
        await nursery.start(leader.groups.run)
        yield leader


@pytest.mark.parametrize(("version", "adds"), [(V1, False), (V2, True)])
async def test_the_first_batch_is_asked_about_and_no_other(
    autojump_clock: MockClock, leader: Leader, version: int, adds: bool
) -> None:
    assert await leader.produce(version) is ErrorCode.NONE
    assert await leader.produce(version, sequence=1) is ErrorCode.NONE
    (request,) = leader.coordinator.asked
    (transaction,) = request.transactions
    assert transaction.verify_only is not adds
    assert transaction.topics[0].name == "t"
    assert leader.partition.log.log_end_offset == 2


@pytest.mark.parametrize(
    ("version", "told", "answered"),
    [
        (V2, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS),
        (V2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (V2, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (V1, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (V1, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (10, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (V2, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
async def test_what_the_coordinator_refuses_is_not_appended(
    autojump_clock: MockClock, leader: Leader, version: int, told: ErrorCode, answered: ErrorCode
) -> None:
    leader.coordinator.codes[HERE] = told
    assert await leader.produce(version) is answered
    assert leader.partition.log.log_end_offset == 0


async def test_outside_transactions_nobody_is_asked(
    autojump_clock: MockClock, leader: Leader
) -> None:
    assert await leader.produce(V2, transactional_id=None) is ErrorCode.NONE
    assert leader.coordinator.asked == []


async def test_a_batch_that_comes_after_the_end_of_its_transaction_is_refused(
    autojump_clock: MockClock, leader: Leader
) -> None:
    """It was begun before: appended now, nothing would ever end it."""
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await trio.sleep(0.2)
            leader.end_transaction()

        nursery.start_soon(end)
        assert await leader.produce(V1) is ErrorCode.INVALID_TXN_STATE
    assert leader.partition.log.log_end_offset == 1, "the marker"


@pytest.mark.parametrize(("version", "adds"), [(OFFSETS_V1, False), (OFFSETS_V2, True)])
async def test_offsets_are_asked_about_too(
    autojump_clock: MockClock, leader: Leader, version: int, adds: bool
) -> None:
    assert await leader.commit(version) is ErrorCode.NONE
    assert await leader.commit(version) is ErrorCode.NONE
    (request,) = leader.coordinator.asked
    (transaction,) = request.transactions
    assert transaction.verify_only is not adds
    assert [(each.name, each.partitions) for each in transaction.topics] == [(OFFSETS_TOPIC, [0])]


@pytest.mark.parametrize(
    ("version", "told", "answered"),
    [
        (OFFSETS_V1, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (3, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (OFFSETS_V1, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (OFFSETS_V1, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
async def test_offsets_that_the_coordinator_refuses_are_not_kept(
    autojump_clock: MockClock, leader: Leader, version: int, told: ErrorCode, answered: ErrorCode
) -> None:
    leader.coordinator.codes[OFFSETS] = told
    assert await leader.commit(version) is answered
    assert leader.offsets.log.log_end_offset == 0


async def test_offsets_that_come_after_the_end_of_their_transaction_are_refused(
    autojump_clock: MockClock, leader: Leader
) -> None:
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await trio.sleep(0.2)
            leader.end_transaction()

        nursery.start_soon(end)
        assert await leader.commit(OFFSETS_V1) is ErrorCode.INVALID_TXN_STATE
    assert leader.offsets.log.log_end_offset == 1, "the marker"


async def test_where_verification_is_off_only_v2_asks(
    autojump_clock: MockClock, leader: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader.config.set_dynamic(None, {VERIFIES: "false"})
    leader.partition.log.config = leader.config.log_config({}, ME)
    assert await leader.produce(V1) is ErrorCode.NONE
    assert leader.coordinator.asked == []
