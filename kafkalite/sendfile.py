"""Chunks to a socket: what lies in memory by sendmsg, what lies in a segment by sendfile(2).

The sockets are the standard library's, non-blocking; trio is only asked to wait when the kernel's
buffer is full. A response that fits (nearly every one) costs one system call and no checkpoint. What is
on the disk only is read by a thread first: sendfile would wait for the disk, and all clients with it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from functools import partial
from typing import cast

import trio

from kafkalite.disk_threads import in_disk_thread
from kafkalite.log.open_files import FileSlice
from kafkalite.wire.fields import InMemory, Records

# The kernel takes at most this many buffers at once (IOV_MAX on Linux).
_MAX_BUFFERS_PER_CALL = 1024
# How much of a file is looked at, whether it must be read from the disk, and then sent.
_MOST_AT_ONCE_BYTES = 1 << 20
# Below this, copying is cheaper than handing the kernel a list.
_JOIN_BELOW_BYTES = 16384


async def send_chunks(sock: socket.socket, chunks: Sequence[Records]) -> int:
    """Send all chunks in order and return how many bytes that were. Raises OSError.

    Every FileSlice among the chunks is closed, whatever happens.
    """
    try:
        sent = 0
        memory: list[InMemory] = []
        for chunk in chunks:
            if not len(chunk):
                continue
            if isinstance(chunk, FileSlice):
                if memory:
                    sent += await _send_memory(sock, memory, socket.MSG_MORE)
                    memory = []
                sent += await _send_file(sock, chunk)
            else:
                memory.append(cast(InMemory, chunk))
        if memory:
            sent += await _send_memory(sock, memory, 0)
        return sent
    finally:
        close_slices(chunks)


def close_slices(chunks: Sequence[object]) -> None:
    """Give back the files of those chunks that lie in one."""
    for chunk in chunks:
        if isinstance(chunk, FileSlice):
            chunk.close()


async def _send_memory(sock: socket.socket, buffers: list[InMemory], flags: int) -> int:
    total = sum(map(len, buffers))
    if len(buffers) > 1 and total <= _JOIN_BELOW_BYTES:
        buffers = [b"".join(buffers)]
    remaining = total
    while True:
        try:
            if len(buffers) == 1:
                count = sock.send(buffers[0], flags)
            else:
                count = sock.sendmsg(buffers[:_MAX_BUFFERS_PER_CALL], (), flags)
        except (BlockingIOError, InterruptedError):
            await trio.lowlevel.wait_writable(sock)
            continue
        remaining -= count
        if not remaining:
            return total
        buffers = _without_first(buffers, count)


def _without_first(buffers: list[InMemory], count: int) -> list[InMemory]:
    for index, buffer in enumerate(buffers):
        if count < len(buffer):
            return [memoryview(buffer)[count:], *buffers[index + 1 :]]
        count -= len(buffer)
    return []


async def _send_file(sock: socket.socket, records: FileSlice) -> int:
    position, end = records.position, records.position + records.size
    while position < end:
        size = min(end - position, _MOST_AT_ONCE_BYTES)
        if not records.is_cached(position, size):
            # The disk keeps this client waiting, and nobody else.
            await in_disk_thread(partial(records.read_ahead, position, size))
        await _send_part(sock, records, position, size)
        position += size
    return records.size


async def _send_part(sock: socket.socket, records: FileSlice, position: int, size: int) -> None:
    out, source = sock.fileno(), records.fileno()
    end = position + size
    while position < end:
        try:
            count = os.sendfile(out, source, position, end - position)
        except (BlockingIOError, InterruptedError):
            await trio.lowlevel.wait_writable(sock)
            continue
        if count == 0:
            # The length is promised already: the connection cannot be saved.
            raise OSError(f"the segment is shorter than promised: {end - position} bytes missing")
        position += count
