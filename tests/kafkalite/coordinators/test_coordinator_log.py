"""A damaged log of a coordinator takes only its own groups offline."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.kafkalite.data_directories import directory_of, running


async def test_a_damaged_group_log_takes_only_its_groups_along(
    tmp_path: Path, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"offsets_topic_num_partitions": 2}
    groups = {java_hash(name) % 2: name for name in ("a", "b")}
    async with running(tmp_path, **config) as broker:
        broker.create_topic("t")
        client = await connect(broker)
        for name in groups.values():
            assert await coordinator_code(client, name) == 0
            assert await commit(client, name) == 0
        place = directory_of(broker, "__consumer_offsets", 0)
    (log,) = (place / "__consumer_offsets-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[-3] ^= 1
    log.write_bytes(data)
    async with running(tmp_path, **config) as broker:
        assert "partition __consumer_offsets-0 is offline: it cannot be read back" in caplog.text
        client = await connect(broker)
        assert await coordinator_code(client, groups[0]) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await commit(client, groups[0]) == ErrorCode.NOT_COORDINATOR
        assert await coordinator_code(client, groups[1]) == 0
        assert await commit(client, groups[1]) == 0


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


async def test_what_is_too_much_for_a_batch_is_refused_before_it_is_made(
    broker: test_broker, client: Any
) -> None:
    """The records are there, and little more."""
    assert await coordinator_code(client, "group") == 0
    topics = broker._running.services.topics
    log = ConsumerOffsetsLog(topics, lambda: 1)
    records = [(b"key" * 10, b"value" * 10)] * 50_000
    tracemalloc.start()
    with pytest.raises(KafkaError) as refused:
        log.append(0, records)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert peak < 1 << 20
    assert log.end_offset(0) == 0
