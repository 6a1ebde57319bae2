"""A full disk, and ten thousand partitions with few descriptors."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records
from tests.kafkalite.test_main import started

# The broker runs on the real clock: older records would fall to retention after thirty seconds.
NOW_MS = int(time.time() * 1000)
PARTITIONS = 10_000


def produce(value: bytes, *indexes: int) -> ProduceRequest:
    batch = build_batch([Record(timestamp=NOW_MS, value=value)])
    data = [PartitionProduceData(index=index, records=batch) for index in indexes]
    topic = TopicProduceData(name="t", partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


async def codes(client: Any, request: ProduceRequest) -> list[int]:
    answer = await client.ask(request, 9)
    return [each.error_code for each in answer.responses[0].partition_responses]


async def values(client: Any) -> list[bytes]:
    """Everything in the first partition, of which the high watermark must be the end."""
    found: list[bytes] = []
    while True:
        partition = FetchPartition(
            partition=0, fetch_offset=len(found), partition_max_bytes=1 << 20
        )
        topic = FetchTopic(topic="t", partitions=[partition])
        answer = await client.ask(FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic]), 11)
        (answered,) = answer.responses[0].partitions
        assert answered.error_code == 0
        batches = list(iterate_batches(answered.records or b""))
        if not batches:
            assert answered.high_watermark == len(found)
            return found
        for batch in batches:
            assert batch.is_valid()
            found += [record.value or b"" for record in iterate_records(batch)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes; only root can make such a disk (others: the seam, tests/log/test_manager.py)."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


async def test_a_full_disk_and_room_again(small_disk: Path, connect: Any) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(1_500_000))
    acknowledged: list[bytes] = []
    async with broker(data_dir=small_disk / "data") as running:
        running.create_topic("t")
        client = await connect(running)
        for i in range(40):
            value = b"%d" % i * 50_000
            (code,) = await codes(client, produce(value, 0))
            if code == 0:
                acknowledged.append(value)
            else:
                assert code == ErrorCode.KAFKA_STORAGE_ERROR
        assert 3 < len(acknowledged) < 30
        assert await values(client) == acknowledged
        filler.unlink()
        assert await codes(client, produce(b"room", 0)) == [0]
        acknowledged.append(b"room")
        assert await values(client) == acknowledged
    async with broker(data_dir=small_disk / "data") as running:
        assert await values(await connect(running)) == acknowledged


async def test_ten_thousand_partitions_with_few_descriptors(tmp_path: Path, connect: Any) -> None:
    ready = tmp_path / "ready.json"
    arguments = ("--port", "0", "--data-dir", str(tmp_path / "data"), "--ready-file", str(ready))
    used = range(0, PARTITIONS, 20)
    for turn in range(2):
        began = time.monotonic()
        with started(*arguments, descriptors=200) as process:
            assert time.monotonic() - began < 30  # seconds, on a machine that does much else
            address = json.loads(ready.read_text())["bootstrap"]
            client = await connect(SimpleNamespace(bootstrap=address))
            if turn == 0:
                topic = CreatableTopic(name="t", num_partitions=PARTITIONS, replication_factor=1)
                answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
                assert answer.topics[0].error_code == 0
            for _ in range(2):
                assert await codes(client, produce(b"v", *used)) == [0] * len(used)
            assert len(await values(client)) == 2 * (turn + 1)
            assert len(os.listdir(f"/proc/{process.pid}/fd")) < 200
            process.kill()
