"""DescribeLogDirs: sizes of the replicas in each data directory of the node asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.kafkalite.filling import fill


@pytest.mark.parametrize("version", range(1, 6))
async def test_what_lies_in_the_data_directory(tmp_path: Path, connect: Any, version: int) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        b.create_topic("t", 2)
        b.create_topic("u")
        size = fill(b, "t").log.size_bytes
        assert size > 0
        answer = await client.ask(DescribeLogDirsRequest(topics=None), version)
        (result,) = answer.results
        assert (result.error_code, result.log_dir) == (0, str(tmp_path))
        assert {
            (topic.name, item.partition_index): item.partition_size
            for topic in result.topics
            for item in topic.partitions
        } == {("t", 0): size, ("t", 1): 0, ("u", 0): 0}
        if version >= 4:
            assert (
                result.total_bytes == os.statvfs(tmp_path).f_frsize * os.statvfs(tmp_path).f_blocks
            )
            assert 0 < result.usable_bytes <= result.total_bytes
        some = [
            DescribableLogDirTopic(topic="t", partitions=[1, 9]),
            DescribableLogDirTopic(topic="nosuch", partitions=[0]),
        ]
        answer = await client.ask(DescribeLogDirsRequest(topics=some), version)
        assert [
            (topic.name, item.partition_index)
            for topic in answer.results[0].topics
            for item in topic.partitions
        ] == [("t", 1)]


async def test_a_node_tells_of_its_own_replicas(connect: Any) -> None:
    async with test_broker(nodes=2) as b:
        b.create_topic("t", 2, 1)
        for node_id in (1, 2):
            client = await connect(b, node_id)
            answer = await client.ask(DescribeLogDirsRequest(topics=None))
            (topic,) = answer.results[0].topics
            leaders = b._running.services.topics.by_name["t"].partitions
            assert [item.partition_index for item in topic.partitions] == [
                partition.index for partition in leaders if partition.leader_id == node_id
            ]
