"""Chunks to a transport: memory by sendmsg(2), slices of segments by sendfile(2).

A response that fits (nearly every one) costs one system call and no checkpoint. Bytes that are on
the disk only are read by a thread first: sendfile would wait for the disk, and all clients with it.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

import trio

from kafkalite.log.open_files import FileSlice, close_slices
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.server.transport import Transport

# The kernel takes at most this many buffers at once (IOV_MAX on Linux).
_MAX_BUFFERS_PER_CALL = 1024
# The bytes of a file that are checked for cold pages, and then sent, in one step.
_PART_BYTES = 1 << 20
# After this many bytes others have their turn: a quick receiver could take all at once.
_AT_ONCE_BYTES = 1 << 20
# To read few bytes, and to send them with what is around them, is cheaper than sendfile.
_COPY_BELOW_BYTES = 16384
# Below this, copying is cheaper than handing the kernel a list.
_JOIN_BELOW_BYTES = 16384


async def send_chunks(transport: Transport, chunks: list[Records]) -> None:
    """Send all chunks in order. Raises OSError.

    Every FileSlice among the chunks is closed, whatever happens; `chunks` is empty at the end.
    """
    try:
        while True:
            is_cached = send_at_once(transport, chunks)
            if not chunks and not transport.has_output:
                return
            first = chunks[0] if chunks else b""
            if isinstance(first, FileSlice) and not is_cached:
                # The disk keeps this client waiting, and no other.
                await in_disk_thread(partial(first.read_ahead, _part_of(first)))
            else:
                await trio.lowlevel.wait_writable(transport.fileno())
    finally:
        close_slices(chunks)


def send_at_once(transport: Transport, chunks: list[Records]) -> bool:
    """Send without waiting, at most some megabytes; the rest stays in `chunks`.

    False: a disk has to be waited for before the rest can be sent. Raises OSError.
    """
    left = _AT_ONCE_BYTES
    with suppress(BlockingIOError, InterruptedError):
        if transport.has_output:
            transport.send(b"", 0)
        while chunks and left > 0:
            sent = _send_memory(transport, chunks)
            if sent is not None:
                left -= sent
                continue
            first = cast(FileSlice, chunks[0])
            part = _part_of(first)
            if not first.is_cached(part):
                return False
            _send_part(transport, first, part)
            left -= part
            if not first.size:
                chunks.pop(0)
                first.close()
    return True


def _in_memory(chunk: Records) -> InMemory | None:
    """The chunk's bytes; None for many of a file, or if the disk would be waited for.

    Raises OSError.
    """
    if not isinstance(chunk, FileSlice):
        return cast(InMemory, chunk)
    if chunk.size > _COPY_BELOW_BYTES:
        return None
    data = chunk.read_cached()
    if data is not None:
        chunk.close()
        if len(data) < chunk.size:
            # The length is promised already: the connection cannot be saved.
            raise _too_short(chunk.size - len(data))
    return data


def _part_of(records: FileSlice) -> int:
    return min(records.size, _PART_BYTES)


def _send_memory(transport: Transport, chunks: list[Records]) -> int | None:
    """Send, in one call, the first of the chunks before a slice that stays one; take them away.

    Returns the number of bytes; None if the first chunk is such a slice. Raises OSError.
    """
    buffers: list[InMemory] = []
    flags = total = 0
    for index, chunk in enumerate(chunks):
        is_full = total >= _AT_ONCE_BYTES or index == _MAX_BUFFERS_PER_CALL
        data = None if is_full else _in_memory(chunk)
        if data is None:
            flags = socket.MSG_MORE
            break
        chunks[index] = data
        buffers.append(data)
        total += len(data)
    if not buffers:
        return None
    first = buffers if total <= _AT_ONCE_BYTES else _first(buffers, _AT_ONCE_BYTES)
    if len(first) == 1 or total <= _JOIN_BELOW_BYTES:
        sent = transport.send(first[0] if len(first) == 1 else b"".join(first), flags)
    else:
        sent = transport.send_buffers(first, flags)
    chunks[: len(buffers)] = [] if sent == total else _without_first(buffers, sent)
    return sent


def _first(buffers: list[InMemory], count: int) -> list[InMemory]:
    """The first `count` bytes of more."""
    first: list[InMemory] = []
    for buffer in buffers:
        first.append(memoryview(buffer)[:count])
        count -= len(buffer)
        if count <= 0:
            break
    return first


def _without_first(buffers: list[InMemory], count: int) -> list[InMemory]:
    for index, buffer in enumerate(buffers):
        if count < len(buffer):
            return [memoryview(buffer)[count:], *buffers[index + 1 :]]
        count -= len(buffer)
    return []


def _send_part(transport: Transport, records: FileSlice, size: int) -> None:
    """Send the slice's first bytes, or as many of them as there is room for."""
    while size:
        count = transport.send_file(records.fileno(), records.position, size)
        if count == 0:
            # The length is promised already: the connection cannot be saved.
            raise _too_short(records.size)
        size -= count
        records.advance(count)


def _too_short(missing_bytes: int) -> OSError:
    text = f"the segment is shorter than promised: {missing_bytes} bytes missing"
    return OSError(errno.EIO, text)
