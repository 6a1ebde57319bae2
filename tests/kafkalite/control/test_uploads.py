"""A body becomes a file, up to a size, and the file is gone in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from kafkalite.control.uploads import spooled
from kafkalite.server.http import BodyTooLargeError, HttpBody


def body(*parts: bytes) -> HttpBody:
    left = [*parts, b""]

    async def receive() -> bytes:
        return left.pop(0)

    return HttpBody(receive)


async def test_a_file_has_all_of_it(tmp_path: Path) -> None:
    parts = [bytes([number]) * 700_000 for number in range(4)]
    async with spooled(body(*parts), tmp_path / "new", 1 << 22) as path:
        assert await trio.Path(path).read_bytes() == b"".join(parts)
    assert os.listdir(tmp_path / "new") == []


async def test_no_more_than_so_much(tmp_path: Path) -> None:
    with pytest.raises(BodyTooLargeError, match="a file may have 1 MiB"):
        async with spooled(body(bytes(1 << 20), b"x"), tmp_path, 1 << 20):
            pass
    assert os.listdir(tmp_path) == []
