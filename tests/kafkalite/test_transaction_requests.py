"""Transactions over the wire: both generations, isolation, fencing, timeouts, lost answers, the tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafkalite.coordinators.coordinator_log import batches_of
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.transactional import (
    SMALL,
    TOPIC,
    Transactional,
    committed_offset,
    end_offsets,
    read_committed,
)

NONE = ErrorCode.NONE


@pytest.fixture
async def broker() -> AsyncIterator[a_broker]:
    async with a_broker(SMALL) as running:
        yield running


@pytest.fixture
async def writer(broker: a_broker, client: Any) -> Transactional:
    broker.create_topic(TOPIC, partitions=2)
    writer = Transactional(client)
    await writer.find_coordinators()
    assert await writer.init() is NONE
    return writer


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


async def test_the_first_sequence_of_a_transaction_is_0(writer: Transactional) -> None:
    writer.sequences[0] = 3
    assert await writer.produce(b"late") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    writer.sequences[0] = 0
    assert await writer.produce(b"first") is NONE


async def test_a_batch_must_name_its_transaction(writer: Transactional) -> None:
    request = writer.production(b"anonymous", 0)
    request.transactional_id = None
    answer = await writer.client.ask(request, 12)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_one_unknown_partition_spoils_the_others(writer: Transactional) -> None:
    assert await writer.add(0, 7) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await writer.add(7, 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await writer.state() == "Empty"


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_a_timeout_has_bounds(writer: Transactional, timeout_ms: int) -> None:
    refused = await writer.init(timeout_ms=timeout_ms)
    assert refused is ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_a_transaction_that_takes_too_long_is_aborted(
    writer: Transactional, broker: a_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = broker._running.services.transaction_coordinator
    assert await writer.init(timeout_ms=1000) is NONE
    assert await writer.produce(b"slow") is NONE
    now_ms = broker._running.now_ms()
    monkeypatch.setattr(coordinator, "_now_ms", lambda: now_ms)
    coordinator.abort_timed_out()
    assert await writer.state() == "Ongoing"
    monkeypatch.setattr(coordinator, "_now_ms", lambda: now_ms + 1001)
    coordinator.abort_timed_out()
    assert await writer.state() == "CompleteAbort"
    assert await read_committed(writer.client) == []
    assert await end_offsets(writer.client) == (2, 2)
    assert await writer.end(commit=True) is ErrorCode.INVALID_TXN_STATE
    # With transactions v2 its own epoch lets the producer go on (KIP-890).
    identity = {"producer_id": writer.producer_id, "producer_epoch": writer.epoch}
    assert await writer.init(**identity) is NONE
    await writer.write(b"again", commit=True)
    assert await read_committed(writer.client) == [b"again"]


async def test_a_transactional_id_that_rests_is_forgotten(
    writer: Transactional, broker: a_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = broker._running.services.transaction_coordinator
    later = broker._running.now_ms() + coordinator.config.transactional_id_expiration_ms
    assert await writer.produce(b"open") is NONE
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later + 1000)
    coordinator.remove_expired()
    assert await writer.state() == "Ongoing"
    monkeypatch.undo()
    assert await writer.end(commit=True) is NONE
    coordinator.remove_expired()
    assert await writer.state() == "CompleteCommit"
    monkeypatch.setattr(coordinator, "_now_ms", lambda: later + 10_000)
    coordinator.remove_expired()
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


async def test_listing(writer: Transactional, clients: Any) -> None:
    other = Transactional(await clients.connect(), "other")
    assert await other.init() is NONE
    assert await other.produce(b"open") is NONE

    async def listed(**filters: Any) -> set[str]:
        answer = await writer.client.ask(ListTransactionsRequest(**filters))
        assert not answer.error_code
        return {found.transactional_id for found in answer.transaction_states}

    assert await listed() == {"writer", "other"}
    assert await listed(state_filters=["Ongoing"]) == {"other"}
    assert await listed(producer_id_filters=[writer.producer_id]) == {"writer"}
    assert await listed(transactional_id_pattern="wri.*") == {"writer"}
    assert await listed(transactional_id_pattern="wri") == set()
    unknown = await writer.client.ask(ListTransactionsRequest(state_filters=["Asleep"]))
    assert (unknown.unknown_state_filters, unknown.transaction_states) == (["Asleep"], [])
    for expression in ("(", "wri(?=t).*"):  # the second is one in Python, but not in RE2
        bad = await writer.client.ask(ListTransactionsRequest(transactional_id_pattern=expression))
        assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_a_hanging_transaction_is_found_and_ended(writer: Transactional) -> None:
    assert await writer.produce(b"hangs", 1) is NONE
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=TOPIC, partition_indexes=[0, 1, 2])]
    )
    none, one, unknown = (await writer.client.ask(request)).topics[0].partitions
    assert none.active_producers == []
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (producer,) = one.active_producers
    assert (producer.producer_id, producer.producer_epoch) == (writer.producer_id, writer.epoch)
    assert (producer.current_txn_start_offset, producer.last_sequence) == (0, 0)
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        coordinator_epoch=max(producer.coordinator_epoch, 0),
        topics=[WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[1])],
    )
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == NONE
    assert await end_offsets(writer.client, 1) == (2, 2)
    assert await read_committed(writer.client, 1) == []


async def test_a_cluster_that_older_brokers_may_read(
    writer: Transactional, broker: a_broker
) -> None:
    """At level 0 of transaction.version records have no tagged fields, and V2 has no place in them."""
    lowered = FeatureUpdateKey(feature="transaction.version", max_version_level=0, upgrade_type=2)
    answer = await writer.client.ask(UpdateFeaturesRequest(feature_updates=[lowered]))
    assert answer.error_code == NONE
    assert await writer.init() is NONE
    assert await writer.add(0) is NONE
    assert await writer.produce(b"a", version=11) is NONE
    assert await writer.produce(b"b", 1) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.commit_offset(3) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.end(commit=True) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.end(commit=True, version=4) is NONE
    assert await read_committed(writer.client) == [b"a"]
    log = broker._running.services.transaction_coordinator._log.partition_of(writer.id).log
    last = [record for batch in batches_of(log) for record in iterate_records(batch)][-1]
    assert last.value is not None
    assert last.value[:2] == b"\0\0"


async def test_only_the_coordinator_answers(connect: Any) -> None:
    async with a_broker(SMALL, nodes=3) as running:
        running.create_topic(TOPIC, partitions=2)
        writers = [Transactional(await connect(running, node_id)) for node_id in (1, 2, 3)]
        await writers[0].find_coordinators()
        codes = [await writer.init() for writer in writers]
        assert sorted(codes) == [NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR]
