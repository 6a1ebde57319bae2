"""A body that is a file, on its way to the disk: it may be larger than memory is for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from kafkalite.log.meta_properties import random_id
from kafkalite.server.http import BodyTooLargeError, HttpBody

# Written at once, by a thread.
_WRITE_BYTES: Final = 1 << 20


@asynccontextmanager
async def spooled(body: HttpBody, directory: Path, most_bytes: int) -> AsyncGenerator[Path]:
    """The body as a file in a directory, which is gone in the end.

    Raises BodyTooLargeError, OSError, and what reading the body raises.
    """
    path = trio.Path(directory / random_id())
    await path.parent.mkdir(parents=True, exist_ok=True)
    try:
        async with await path.open("wb") as file:
            size, parts = 0, bytearray()
            while part := await body.part():
                size += len(part)
                if size > most_bytes:
                    raise BodyTooLargeError(f"a file may have {most_bytes >> 20} MiB")
                parts += part
                if len(parts) >= _WRITE_BYTES:
                    await file.write(bytes(parts))
                    parts.clear()
            await file.write(bytes(parts))
        yield Path(path)
    finally:
        with trio.CancelScope(shield=True):
            await path.unlink(missing_ok=True)
