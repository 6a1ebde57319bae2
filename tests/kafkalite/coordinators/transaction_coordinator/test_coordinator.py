"""Transactions over the wire: both generations, isolation, fencing, timeouts, lost responses."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.transactional import (
    NONE,
    TOPIC,
    Transactional,
    committed_offset,
    end_offsets,
    read_committed,
)


async def test_a_transaction_of_the_first_generation(writer: Transactional) -> None:
    client = writer.client
    assert await writer.produce(b"early", version=11) is ErrorCode.TRANSACTION_ABORTABLE
    assert await writer.produce(b"early", version=10) is ErrorCode.INVALID_TXN_STATE
    assert await writer.add(0) is NONE
    assert await writer.produce(b"a", version=11) is NONE
    assert await writer.add_offsets() is NONE
    assert await writer.commit_offset(3, version=3) is NONE
    assert await read_committed(client) == []
    assert await end_offsets(client) == (1, 0)
    assert await committed_offset(client) == -1
    assert await committed_offset(client, require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await writer.end(commit=True, version=4) is NONE
    assert await read_committed(client) == [b"a"]
    assert await end_offsets(client) == (2, 2)
    assert await committed_offset(client, require_stable=True) == 3
    assert await writer.state() == "CompleteCommit"


async def test_transactions_of_the_second_generation(writer: Transactional) -> None:
    client = writer.client
    epoch = writer.epoch
    await writer.write(b"a", commit=True, offset=1)
    await writer.write(b"b", commit=False, offset=2)
    await writer.write(b"c", commit=True)
    assert writer.epoch == epoch + 3
    for partition in (0, 1):
        assert await read_committed(client, partition) == [b"a", b"c"]
        assert await end_offsets(client, partition) == (6, 6)
    assert await committed_offset(client, require_stable=True) == 1


async def test_what_is_open_holds_back_what_comes_after(
    writer: Transactional, clients: Any
) -> None:
    other = Transactional(await clients.connect(), "other")
    assert await other.init() is NONE
    assert await writer.produce(b"open") is NONE
    await other.write(b"done", commit=True)
    assert await end_offsets(writer.client) == (3, 0)
    assert await read_committed(writer.client) == []
    assert await writer.end(commit=False) is NONE
    assert await read_committed(writer.client) == [b"done"]
    assert await end_offsets(writer.client) == (4, 4)


async def test_a_zombie_is_fenced_wherever_it_comes(writer: Transactional, clients: Any) -> None:
    assert await writer.produce(b"zombie") is NONE
    heir = Transactional(await clients.connect())
    assert await heir.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert await heir.init() is NONE
    assert await writer.produce(b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await writer.produce(b"zombie", 1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await writer.add(0) is ErrorCode.PRODUCER_FENCED
    assert await writer.add_offsets() is ErrorCode.PRODUCER_FENCED
    assert await writer.commit_offset(9) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await writer.end(commit=True) is ErrorCode.PRODUCER_FENCED
    assert await writer.end(commit=True, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    await heir.write(b"heir", commit=True)
    assert await read_committed(heir.client) == [b"heir"]


async def test_a_transaction_that_takes_too_long_is_aborted(
    writer: Transactional, broker: a_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = broker._running.services.transaction_coordinator
    assert await writer.init(timeout_ms=1000) is NONE
    assert await writer.produce(b"slow") is NONE
    now_ms = broker._running.services.now_ms()
    monkeypatch.setattr(coordinator, "_now_ms", lambda: now_ms)
    at_once(coordinator.abort_timed_out())
    assert await writer.state() == "Ongoing"
    monkeypatch.setattr(coordinator, "_now_ms", lambda: now_ms + 1001)
    at_once(coordinator.abort_timed_out())
    assert await writer.state() == "CompleteAbort"
    assert await read_committed(writer.client) == []
    assert await end_offsets(writer.client) == (2, 2)
    assert await writer.end(commit=True) is ErrorCode.INVALID_TXN_STATE
    # With transactions v2 its own epoch lets the producer go on (KIP-890).
    identity = {"producer_id": writer.producer_id, "producer_epoch": writer.epoch}
    assert await writer.init(**identity) is NONE
    await writer.write(b"again", commit=True)
    assert await read_committed(writer.client) == [b"again"]


async def test_a_transaction_that_ends_during_a_sweep_is_not_aborted(
    writer: Transactional, broker: a_broker, clients: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep over very many takes its time, in which others have their turn."""
    others = [Transactional(await clients.connect(), f"id-{number}") for number in range(2)]
    writers = [writer, *others]
    for each in writers:
        await each.find_coordinators()
        assert await each.init(timeout_ms=1000) is NONE
        assert await each.produce(b"slow") is NONE
    coordinator = broker._running.services.transaction_coordinator
    later_ms = broker._running.services.now_ms() + 2000
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later_ms)
    steps = coordinator.abort_timed_out()
    next(steps)
    left = [each for each in writers if await each.state() == "Ongoing"]
    assert len(left) == 2
    assert await left[0].end(commit=True) is NONE
    at_once(steps)
    assert await left[0].state() == "CompleteCommit"
    assert await left[1].state() == "CompleteAbort"


async def test_the_log_tells_who_is_fenced_and_why(
    writer: Transactional,
    broker: a_broker,
    clients: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, "kafkalite.coordinators.transaction_coordinator.coordinator")
    assert await writer.produce(b"open") is NONE
    heir = Transactional(await clients.connect())
    assert await heir.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert await heir.init() is NONE
    assert await heir.produce(b"slow") is NONE
    coordinator = broker._running.services.transaction_coordinator
    later_ms = broker._running.services.now_ms() + 3_600_000
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later_ms)
    at_once(coordinator.abort_timed_out())
    said = [message.partition(": ")[2] for message in caplog.messages]
    assert [re.sub(r"\d+", "N", text) for text in said] == [
        "producer fenced, another producer has come, epoch N now",
        "new producer, epoch N now",
        "producer fenced, its transaction has timed out, epoch N now",
    ]


async def test_a_transactional_id_that_rests_is_forgotten(
    writer: Transactional, broker: a_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = broker._running.services.transaction_coordinator
    later = broker._running.services.now_ms() + coordinator.config.transactional_id_expiration_ms
    assert await writer.produce(b"open") is NONE
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later + 1000)
    at_once(coordinator.remove_expired())
    assert await writer.state() == "Ongoing"
    monkeypatch.undo()
    assert await writer.end(commit=True) is NONE
    at_once(coordinator.remove_expired())
    assert await writer.state() == "CompleteCommit"
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later + 10_000)
    at_once(coordinator.remove_expired())
    assert await writer.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    assert await writer.end(commit=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


async def lose_answer(writer: Transactional, clients: Any, request: object, version: int) -> None:
    """The broker has applied the request, and the connection is gone before its answer is read."""
    await writer.client.send(request, version)
    await writer.client.frame()  # it was answered, hence applied; nobody looks at the answer
    await writer.client.stream.aclose()
    writer.client = await clients.connect()


async def test_answers_that_are_lost(writer: Transactional, clients: Any) -> None:
    """Whatever is sent again ends in the same state."""
    for commit in (True, False):
        value = b"%d" % commit
        epoch = writer.epoch
        await lose_answer(writer, clients, writer.production(value, 0), 12)
        assert await writer.produce(value) is NONE
        await lose_answer(writer, clients, writer.offsets(10 + commit), 5)
        assert await writer.commit_offset(10 + commit) is NONE
        await lose_answer(writer, clients, writer.ending(commit=commit), 5)
        assert await writer.end(commit=commit) is NONE
        assert writer.epoch == epoch + 1
    assert await read_committed(writer.client) == [b"1"]
    assert await end_offsets(writer.client) == (4, 4)
    assert await committed_offset(writer.client, require_stable=True) == 11


async def test_lost_answers_of_the_first_generation(writer: Transactional, clients: Any) -> None:
    assert await writer.add(0) is NONE
    await lose_answer(writer, clients, writer.production(b"once", 0), 11)
    assert await writer.produce(b"once", version=11) is NONE
    await lose_answer(writer, clients, writer.ending(commit=True), 4)
    assert await writer.end(commit=True, version=4) is NONE
    assert await writer.end(commit=False, version=4) is ErrorCode.INVALID_TXN_STATE
    assert await read_committed(writer.client) == [b"once"]


async def test_only_the_coordinator_answers(connect: Any) -> None:
    async with a_broker(FEW_PARTITIONS, nodes=3) as running:
        running.create_topic(TOPIC, partitions=2)
        writers = [Transactional(await connect(running, node_id)) for node_id in (1, 2, 3)]
        await writers[0].find_coordinators()
        codes = [await writer.init() for writer in writers]
        assert sorted(codes) == [NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR]
