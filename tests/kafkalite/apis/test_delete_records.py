"""DeleteRecords: records before an offset go, for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.filling import fill


async def delete(
    client: Any, name: str, *offsets: tuple[int, int], version: int = 2
) -> list[tuple[int, int, int]]:
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[
                    DeleteRecordsPartition(partition_index=index, offset=offset)
                    for index, offset in offsets
                ],
            )
        ],
        timeout_ms=1000,
    )
    answer = await client.ask(request, version)
    (topic,) = answer.topics
    assert topic.name == name
    return [
        (item.partition_index, item.low_watermark, item.error_code) for item in topic.partitions
    ]


@pytest.mark.parametrize("version", range(3))
async def test_records_before_an_offset_are_gone(
    broker: test_broker, client: Any, version: int
) -> None:
    broker.create_topic("t", 2)
    partition = fill(broker, "t", 1)
    assert await delete(client, "t", (1, 4), version=version) == [(1, 4, 0)]
    assert partition.log.log_start_offset == 4
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        partition.read(3, 100)
    assert await delete(client, "t", (1, 2), version=version) == [(1, 4, 0)]
    assert await delete(client, "t", (1, -1), version=version) == [(1, 10, 0)]
    assert partition.log.log_start_offset == 10


async def test_what_cannot_be_deleted(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    broker.create_topic("compacted", configs={"cleanup.policy": "compact"})
    broker.create_topic("both", configs={"cleanup.policy": "compact,delete"})
    fill(broker, "t")
    assert await delete(client, "t", (0, 11), (0, -2), (1, 0), (-1, 0)) == [
        (0, -1, 1),
        (0, -1, 1),
        (1, -1, 3),
        (-1, -1, 3),
    ]
    assert await delete(client, "nosuch", (0, 0)) == [(0, -1, 3)]
    assert await delete(client, "compacted", (0, 0)) == [(0, -1, 44)]
    assert await delete(client, "both", (0, 0)) == [(0, 0, 0)]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
    await client.ask(asked)
    assert await delete(client, "__consumer_offsets", (0, 0)) == [(0, -1, 17)]


async def test_only_the_leader_deletes(connect: Any) -> None:
    async with test_broker(nodes=2) as b:
        b.create_topic("t")
        fill(b, "t")
        leader = b._running.services.topics.by_name["t"].partitions[0].leader_id
        client = await connect(b, 3 - leader)
        assert await delete(client, "t", (0, 5)) == [(0, -1, 6)]
        client = await connect(b, leader)
        assert await delete(client, "t", (0, 5)) == [(0, 5, 0)]


async def test_deleted_records_stay_deleted(tmp_path: Path, connect: Any) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        b.create_topic("t")
        fill(b, "t")
        assert await delete(await connect(b), "t", (0, 7)) == [(0, 7, 0)]
    async with test_broker(data_dir=tmp_path) as b:
        assert b._running.services.topics.by_name["t"].partitions[0].log.log_start_offset == 7
