"""A full disk: nothing acknowledged is lost, and writing goes on when there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.first_partition import codes, produce, values


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes; only root can make such a disk (others: the seam,
    tests/log/test_manager.py)."""
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
