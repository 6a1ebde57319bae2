"""WriteTxnMarkers: a hanging transaction is ended by an administrator."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kafkalite.apis import write_txn_markers
from kafkalite.requests.slices import at_once
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.freed_in_steps import most_freed
from tests.kafkalite.coordinators.asked_broker import Connection
from tests.kafkalite.replica.replicated import ME, OTHER, Replicated, replicated
from tests.kafkalite.transactional import (
    NONE,
    TOPIC,
    Transactional,
    end_offsets,
    read_committed,
)


def test_what_very_many_markers_leave_is_freed_little_by_little() -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    writer: Any = SimpleNamespace(write=refuse)
    topics = [WritableTxnMarkerTopic(name="t", partition_indexes=list(range(4000)))]
    marker = WritableTxnMarker(producer_id=1, topics=topics)
    assert most_freed(write_txn_markers._write_all(writer, 1, [marker])) < 2500
    outcomes = at_once(write_txn_markers._write_all(writer, 1, [marker]))
    assert most_freed(write_txn_markers._told(outcomes, [])) < 2500
    assert outcomes == {1: {"t": {}}}


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


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (None, -1)])
async def test_a_marker_is_of_a_producer(
    writer: Transactional, producer_id: int | None, epoch: int
) -> None:
    assert await writer.produce(b"open", 1) is NONE
    marker = WritableTxnMarker(
        producer_id=writer.producer_id if producer_id is None else producer_id,
        producer_epoch=epoch,
        transaction_result=False,
        coordinator_epoch=0,
        topics=[WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[1])],
    )
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    code = answer.markers[0].topics[0].partitions[0].error_code
    assert code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await end_offsets(writer.client, 1))[0] == 1


def end_of(
    writer: Transactional, *partitions: int, producer_id: int | None = None
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=writer.producer_id if producer_id is None else producer_id,
        producer_epoch=writer.epoch,
        topics=[WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[*partitions])],
    )


async def test_markers_of_one_producer_are_answered_together(writer: Transactional) -> None:
    """One of no partition is not answered, and a partition named twice in one gets it once."""
    assert await writer.produce(b"open", 1) is NONE
    markers = [end_of(writer, 1, 1), end_of(writer), end_of(writer, 7), end_of(writer, 1)]
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=markers), 1)
    (marker,) = answer.markers
    (topic,) = marker.topics
    assert marker.producer_id == writer.producer_id
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [
        (1, NONE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert (await end_offsets(writer.client, 1))[0] == 3
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=[end_of(writer)]), 1)
    assert answer.markers == []


async def test_one_without_a_producer_fails_all_of_them(writer: Transactional) -> None:
    """The last marker of each producer is answered."""
    assert await writer.produce(b"open", 1) is NONE
    markers = [end_of(writer, 1), end_of(writer, 1, producer_id=-1), end_of(writer, 0)]
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=markers), 1)
    assert [
        [partition.error_code for topic in marker.topics for partition in topic.partitions]
        for marker in answer.markers
    ] == [[ErrorCode.UNKNOWN_SERVER_ERROR]] * 2
    assert (await end_offsets(writer.client, 1))[0] == 2
    assert (await end_offsets(writer.client, 0))[0] == 0


async def marked(world: Replicated, name: str = "t", *, loading: bool = False) -> ErrorCode:
    """The outcome of a marker among several processes."""
    groups: Any = SimpleNamespace(
        shards=SimpleNamespace(is_loading=lambda partition: loading),
        transaction_ended=lambda partition, producer_id, *, committed: None,
    )
    services: Any = SimpleNamespace(
        topics=world.topics,
        group_coordinator=groups,
        now_ms=lambda: 1,
        config=world.cluster.config,
    )
    context: Any = SimpleNamespace(node_id=ME, connection=Connection())
    topics = [WritableTxnMarkerTopic(name=name, partition_indexes=[0])]
    marker = WritableTxnMarker(
        producer_id=5, producer_epoch=0, transaction_result=True, coordinator_epoch=0, topics=topics
    )
    request = WriteTxnMarkersRequest(markers=[marker])
    answer = await write_txn_markers.handle(services, context, request)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


@pytest.mark.parametrize(
    ("what", "expected", "seconds"),
    [
        ("copied", ErrorCode.NONE, 1),
        ("led elsewhere", ErrorCode.NOT_LEADER_OR_FOLLOWER, 1),
        ("nothing", ErrorCode.REQUEST_TIMED_OUT, 30),
    ],
)
async def test_a_marker_is_answered_once_the_followers_have_it(
    autojump_clock: MockClock, tmp_path: Path, what: str, expected: ErrorCode, seconds: float
) -> None:
    with replicated(tmp_path) as world:
        partition = world.create(ME, ME, OTHER)
        assert partition.replica is not None
        leading = partition.replica.leading
        assert leading is not None

        async def follow() -> None:
            await trio.sleep(1)
            if what == "copied":
                leading.fetched(OTHER, 1, 0, 10 + OTHER)
                partition.changed()
            elif what == "led elsewhere":
                world.change(leader=OTHER)

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            assert await marked(world) is expected
            assert trio.current_time() - began >= seconds


async def test_a_group_coordinator_that_loads_takes_no_marker(tmp_path: Path) -> None:
    """The transaction coordinator asks again, as after a change of leader."""
    with replicated(tmp_path) as world:
        partition = world.create(ME, ME, name=OFFSETS_TOPIC)
        assert await marked(world, OFFSETS_TOPIC, loading=True) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert partition.log.log_end_offset == 0
        assert await marked(world, OFFSETS_TOPIC) is ErrorCode.NONE
