"""Brokers with two data directories, and what lies in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from kafkalite.broker import Broker
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

NOW_MS = 1_700_000_000_000


def running(tmp_path: Path, **configs: object) -> test_broker:
    names = {name.replace("_", "."): value for name, value in configs.items()}
    return test_broker({"log.dirs": f"{tmp_path}/a,{tmp_path}/b", **names})


def core(broker: test_broker) -> Broker:
    return broker._running


def partition_of(broker: test_broker, topic: str, index: int = 0) -> Partition:
    found = core(broker).services.topics.get(topic)
    assert found is not None
    return found.partitions[index]


def directory_of(broker: test_broker, topic: str, index: int = 0) -> Path:
    found = core(broker).services.logs.manager.directory_of(topic, index)
    assert found is not None
    return found


def other(broker: test_broker, path: Path) -> Path:
    (found,) = {each.path for each in core(broker).services.logs.manager.directories} - {path}
    return found


def append(partition: Partition, value: bytes) -> None:
    partition.append(build_batch([Record(timestamp=NOW_MS, value=value)]))


def values(partition: Partition) -> list[bytes | None]:
    found: list[bytes | None] = []
    offset = partition.log.log_start_offset
    while offset < partition.high_watermark:
        records = partition.read(offset, 1 << 20).records
        assert not isinstance(records, bytes)
        with records:
            for batch in iterate_batches(records.read()):
                found += [record.value for record in iterate_records(batch)]
                offset = batch.next_offset
    return found


def found(root: Path, pattern: str) -> list[Path]:
    return list(root.glob(pattern))


async def gone(root: Path, pattern: str) -> None:
    """Wait until nothing lies there: deleted logs are moved away in the background."""
    with trio.fail_after(10):
        while found(root, pattern):  # noqa: ASYNC110 - nothing tells
            await trio.sleep(0.02)


async def ask(client: Any, path: Path | str, topic: str, *partitions: int) -> list[int]:
    moves = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
    answer = await client.ask(
        AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=moves)])
    )
    return [each.error_code for each in answer.results[0].partitions]
