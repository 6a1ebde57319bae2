"""A damaged log of a coordinator takes only its own groups offline."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from time import sleep
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite import broker as broker_module
from kafkalite.coordinators import coordinator_log
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.group_coordinator.shard import Shard
from kafkalite.group_coordinator.state_log import ReplayedMarker, ReplayedRecord
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.log import Log
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.control_records import (
    ControlRecordType,
    build_end_transaction_marker,
    read_end_transaction_marker,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.stored import decode, encode
from kafkalite.wire.messages.stored.transaction_log import TransactionLogValue
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    build_batch,
    iterate_batches,
    iterate_records,
)
from tests.kafkalite.data_directories import directory_of, running

MUCH = b"value" * 1_000_000
TWO_PARTITIONS: dict[str, Any] = {"offsets_topic_num_partitions": 2}


async def two_groups(broker: test_broker, connect: Any) -> dict[int, str]:
    """Groups that have committed, by their partition of `__consumer_offsets`."""
    groups = {java_hash(name) % 2: name for name in ("a", "b")}
    broker.create_topic("t")
    client = await connect(broker)
    for name in groups.values():
        assert await coordinator_code(client, name) == 0
        assert await commit(client, name) == 0
    return groups


def a_bit_flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def a_record_of_nobody(data: bytes) -> bytes:
    """Behind all others, its checksum is right, and its key ends where the group should be."""
    base_offset = [batch.next_offset for batch in iterate_batches(data)][-1]
    record = Record(timestamp=0, key=b"\0\1\xff\xff\xff", value=b"\0")
    return data + build_batch([record], base_offset=base_offset)


@pytest.mark.holds_the_loop  # the codec that says what is wrong takes long to import
@pytest.mark.parametrize("damaged", [a_bit_flipped, a_record_of_nobody])
@pytest.mark.parametrize("loads", ["at once", "beside clients"])
async def test_a_damaged_group_log_takes_only_its_groups_along(
    tmp_path: Path,
    connect: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    loads: str,
    damaged: Callable[[bytes], bytes],
) -> None:
    if loads == "beside clients":
        monkeypatch.setattr(broker_module, "PROMPT_SECONDS", 0.0)
    async with running(tmp_path, **TWO_PARTITIONS) as broker:
        groups = await two_groups(broker, connect)
        place = directory_of(broker, "__consumer_offsets", 0)
    (log,) = (place / "__consumer_offsets-0").glob("*.log")
    log.write_bytes(damaged(log.read_bytes()))
    async with running(tmp_path, **TWO_PARTITIONS) as broker:
        client = await connect(broker)
        await until_committed(client, groups[1])
        assert "partition __consumer_offsets-0 is offline: it cannot be read back" in caplog.text
        client = await connect(broker)
        assert await coordinator_code(client, groups[0]) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await commit(client, groups[0]) == ErrorCode.NOT_COORDINATOR
        assert await coordinator_code(client, groups[1]) == 0
        assert await commit(client, groups[1]) == 0


async def test_a_transaction_in_no_known_state_takes_its_partition_along(
    tmp_path: Path, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    one: dict[str, Any] = {"transaction_state_log_num_partitions": 1}
    new_id = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000)
    async with running(tmp_path, **one) as broker:
        client = await connect(broker)
        coordinator = FindCoordinatorRequest(key_type=1, coordinator_keys=["x"])
        assert (await client.ask(coordinator)).coordinators[0].error_code == 0
        assert (await client.ask(new_id)).error_code == 0
        place = directory_of(broker, "__transaction_state", 0)
    (log,) = (place / "__transaction_state-0").glob("*.log")
    data = log.read_bytes()
    *_, last = iterate_batches(data)
    (record,) = iterate_records(last)
    assert record.value is not None
    stored = replace(decode(TransactionLogValue, record.value), transaction_status=99)
    later = Record(timestamp=0, key=record.key, value=encode(stored, 1))
    log.write_bytes(data + build_batch([later], base_offset=last.next_offset))
    async with running(tmp_path, **one) as broker:
        assert "__transaction_state-0 is offline: it cannot be read back: 99" in caplog.text
        client = await connect(broker)
        assert (await client.ask(new_id)).error_code == ErrorCode.NOT_COORDINATOR


async def test_batches_count_from_0_as_in_kafka(tmp_path: Path, connect: Any) -> None:
    """Even without a producer: clients that read the topic see it."""
    async with running(tmp_path, offsets_topic_num_partitions=1) as broker:
        broker.create_topic("t")
        client = await connect(broker)
        assert await coordinator_code(client, "a") == 0
        assert await commit(client, "a") == 0
        place = directory_of(broker, "__consumer_offsets", 0)
        (log,) = (place / "__consumer_offsets-0").glob("*.log")
        found = [
            (batch.producer_id, batch.base_sequence) for batch in iterate_batches(log.read_bytes())
        ]
    assert found == [(-1, 0)]


async def test_what_takes_long_to_load_is_loaded_beside_clients(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hear COORDINATOR_LOAD_IN_PROGRESS until then."""
    count = 60
    async with running(tmp_path, offsets_topic_num_partitions=1) as broker:
        broker.create_topic("t")
        client = await connect(broker)
        assert await coordinator_code(client, "group-0") == 0
        for i in range(count):
            assert await commit(client, f"group-{i}") == 0
    apply = Shard.apply

    def applied_slowly(self: Shard, entry: ReplayedRecord, now_ms: int) -> None:
        sleep(0.01)
        apply(self, entry, now_ms)

    monkeypatch.setattr(Shard, "apply", applied_slowly)
    began = trio.current_time()
    async with running(tmp_path, offsets_topic_num_partitions=1) as broker:
        client = await connect(broker)
        codes = await until_committed(client, "group-0")
        assert set(codes) == {0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        assert trio.current_time() - began > 0.01 * count
        assert len(broker._running.services.group_coordinator.shards.loaded[0].groups) == count


@pytest.mark.pure
async def test_a_log_that_cannot_be_read_does_not_keep_others_from_loading(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails in the task that loads."""
    monkeypatch.setattr(broker_module, "PROMPT_SECONDS", 0.0)
    async with running(tmp_path, **TWO_PARTITIONS) as broker:
        groups = await two_groups(broker, connect)
    chunks_of = coordinator_log._chunks_of

    def failing(log: Log, read_bytes: int) -> Iterator[Iterator[RecordBatch]]:
        if log.name == "__consumer_offsets-0":
            raise log.storage_error(OSError("the disk is gone"))
        yield from chunks_of(log, read_bytes)

    monkeypatch.setattr(coordinator_log, "_chunks_of", failing)
    async with running(tmp_path, **TWO_PARTITIONS) as broker:
        client = await connect(broker)
        await until_committed(client, groups[1])
        assert await commit(client, groups[0]) == ErrorCode.NOT_COORDINATOR


def random_records(random: Random) -> list[state_log.StateRecord]:
    def record() -> state_log.StateRecord:
        group, topic, partition = random.choice("gh"), random.choice("tu"), random.randrange(3)
        match random.randrange(10):
            case 0:
                return state_log.offset_tombstone(group, topic, partition)
            case 1:
                return state_log.group_tombstone(group)
            case _:
                encoder = state_log.CommitEncoder(group, topic, UUID(int=1), 5, -1)
                return encoder.record(partition, random.randrange(1000), 0, "")

    return [record() for _ in range(random.choice([1, 1, 2, 40]))]


def fill(log: ConsumerOffsetsLog, partition: Partition, random: Random) -> None:
    """Plain commits, those of two producers, the ends of their transactions."""
    for _ in range(40):
        producer_id = random.choice([-1, -1, -1, 7, 8])
        if producer_id >= 0 and random.random() < 0.3:
            marker = build_end_transaction_marker(
                producer_id=producer_id,
                producer_epoch=0,
                commit=random.random() < 0.5,
                coordinator_epoch=0,
                timestamp=5,
            )
            partition.append(marker, origin=AppendOrigin.COORDINATOR)
        else:
            records = random_records(random)
            if producer_id >= 0:
                records = [each for each in records if each[1] is not None] or records
            log.append(0, records, producer_id=producer_id, producer_epoch=0)


def one_by_one(partition: Partition) -> Iterator[ReplayedRecord | ReplayedMarker]:
    log = partition.log
    for segment in log.segments:
        for batch in iterate_batches(segment.file.path.read_bytes()):
            if batch.is_control:
                marker = read_end_transaction_marker(batch)
                assert marker is not None
                is_commit = marker.control_type is ControlRecordType.COMMIT
                yield ReplayedMarker(batch.producer_id, is_commit)
                continue
            producer_id = batch.producer_id if batch.is_transactional else -1
            for record in iterate_records(batch):
                assert record.key is not None
                yield ReplayedRecord(record.offset, record.key, record.value, producer_id)


def state(entries: Iterator[ReplayedRecord | ReplayedMarker]) -> object:
    shard = Shard(0)
    for entry in entries:
        shard.apply(entry, 0)
    offsets = [
        (group, topic, partition, vars_of(shard, group, topic, partition))
        for group in "gh"
        for topic, partitions in sorted(shard.offsets.partitions_of(group).items())
        for partition in sorted(partitions)
    ]
    pending = [
        (group, topic, partition)
        for group in "gh"
        for topic in "tu"
        for partition in range(3)
        if partition in shard.offsets.pending_in(group, topic)
    ]
    return list(shard.groups), offsets, pending


def vars_of(shard: Shard, group: str, topic: str, partition: int) -> object:
    committed = shard.offsets.get(group, topic, partition)
    return committed and (committed.offset, committed.record_offset, committed.topic_id)


@pytest.mark.parametrize("read_bytes", [1, 300, 1 << 18])
async def test_what_is_left_out_makes_no_difference(
    broker: test_broker, client: Any, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    monkeypatch.setattr(coordinator_log, "REPLAYED_BYTES", read_bytes)
    assert await coordinator_code(client, "group") == 0
    topics = broker._running.services.topics
    log, partition = (
        ConsumerOffsetsLog(topics, lambda: 5),
        topics.partition("__consumer_offsets", 0),
    )
    for seed in range(8):
        fill(log, partition, Random(seed))
        assert state(log.replay(0)) == state(one_by_one(partition))


async def test_of_many_commits_for_a_partition_the_last_is_replayed(
    broker: test_broker, client: Any
) -> None:
    assert await coordinator_code(client, "group") == 0
    topics = broker._running.services.topics
    log = ConsumerOffsetsLog(topics, lambda: 5)
    encoder = state_log.CommitEncoder("g", "t", UUID(int=1), 5, -1)
    for offset in range(500):
        log.append(0, [encoder.record(partition, offset, 0, "") for partition in range(3)])
    entries = [each for each in log.replay(0) if isinstance(each, ReplayedRecord)]
    assert [each.offset for each in entries] == [1497, 1498, 1499]


async def coordinator_code(client: Any, group: str) -> int:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer = await client.ask(request, 4)
    return int(answer.coordinators[0].error_code)


async def commit(client: Any, group: str) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    request = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=[topic]
    )
    answer = await client.ask(request, 8)
    return int(answer.topics[0].partitions[0].error_code)


async def until_committed(client: Any, group: str) -> list[int]:
    """Commit until it is not refused; the codes of all answers."""
    codes = [await commit(client, group)]
    with trio.fail_after(10):
        while codes[-1] != 0:
            await trio.sleep(0.01)
            codes.append(await commit(client, group))
    return codes


@pytest.mark.parametrize("records", [[(b"key" * 10, b"value" * 10)] * 50_000, [(b"", MUCH)]])
async def test_what_is_too_much_for_a_batch_is_refused_before_it_is_made(
    broker: test_broker, client: Any, records: list[Any]
) -> None:
    """The records are there, and little more."""
    assert await coordinator_code(client, "group") == 0
    topics = broker._running.services.topics
    log = ConsumerOffsetsLog(topics, lambda: 1)
    tracemalloc.start()
    with pytest.raises(KafkaError) as refused:
        log.append(0, records)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert peak < 1 << 20
    assert log.end_offset(0) == 0
