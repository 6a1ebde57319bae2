"""A client that does not read: its responses are sent in order, and its files are let go."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles, close_slices
from kafkalite.server.connection import Connection
from kafkalite.server.sendfile import send_at_once
from kafkalite.server.transport import Transport
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import FETCH, PRODUCE, connected, framed, receive, receive_all

MB = 1 << 20
SECONDS = 60


async def test_what_is_not_sent_when_it_is_to_stop_is_sent_first() -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [framed(bytes(8 * MB))]

    async with connected(answer) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        connection.stop()
        with trio.fail_after(SECONDS):
            assert len(await receive_all(stream)) == 8 * MB + 4


async def test_nothing_is_received_before_what_was_asked_is_sent() -> None:
    asked: list[bytes] = []

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        asked.append(bytes(frame))
        return [framed(bytes(8 * MB))]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        await stream.send_all(framed(PRODUCE))
        await wait_all_tasks_blocked()
        assert asked == [FETCH]
        with trio.fail_after(SECONDS):
            await receive(stream, 2 * (8 * MB + 4))
        assert asked == [FETCH, PRODUCE]


async def test_a_client_that_goes_while_it_is_sent_to(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(32 * MB))
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [b"head", FileSlice(file, 0, 32 * MB)]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        assert await receive(stream, 5) == b"head\0"
        assert file.in_use
        await stream.aclose()
        with trio.fail_after(SECONDS):
            await wait_all_tasks_blocked()
        assert not file.in_use
    file.close()


class Taking:
    """A transport that takes all that it is given."""

    has_output = False

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.flags: list[int] = []

    def send(self, data: InMemory, flags: int) -> int:
        self.taken.append(bytes(data))
        self.flags.append(flags)
        return len(data)

    def send_buffers(self, buffers: Sequence[InMemory], flags: int) -> int:
        assert len(buffers) <= os.sysconf("SC_IOV_MAX")
        return self.send(b"".join(buffers), flags)

    def send_file(self, fileno: int, position: int, size: int) -> int:
        return self.send(os.pread(fileno, size, position), 0)


@pytest.mark.parametrize("sizes", [[5 * MB], [MB // 2 + 7] * 9, [5, 3 * MB, 70_000, 0, MB, 1]])
def test_others_have_their_turn_after_each_megabyte_of_memory(sizes: list[int]) -> None:
    """A receiver that is quick enough could be sent all of it in one go."""
    transport = Taking()
    whole = [bytes([index]) * size for index, size in enumerate(sizes)]
    chunks: list[Records] = [*whole]
    while chunks:
        before = len(transport.taken)
        assert send_at_once(cast(Transport, transport), chunks)
        assert sum(map(len, transport.taken[before:])) <= MB
    assert b"".join(transport.taken) == b"".join(whole)


def test_little_of_many_files_is_sent_at_once_with_what_is_around_it(tmp_path: Path) -> None:
    """A Fetch of many partitions with a record each takes one call, not two for each of them."""
    path = tmp_path / "segment"
    path.write_bytes(bytes(range(250)) * 40)
    file = LogFile(path.parent, path.name, OpenFiles())
    transport = Taking()
    chunks: list[Records] = []
    expected = b""
    for index in range(300):
        chunks += [b"partition %d" % index, FileSlice(file, index, 7)]
        expected += b"partition %d" % index + bytes((index + place) % 250 for place in range(7))
    assert send_at_once(cast(Transport, transport), chunks)
    assert chunks == []
    assert transport.taken == [expected]
    assert not file.in_use
    file.close()


def test_a_file_that_is_shorter_than_was_promised(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"12345")
    file = LogFile(path.parent, path.name, OpenFiles())
    chunks: list[Records] = [b"head", FileSlice(file, 2, 7)]
    with pytest.raises(OSError, match="shorter than promised: 4 bytes missing"):
        send_at_once(cast(Transport, Taking()), chunks)
    assert not file.in_use
    file.close()


def test_a_call_takes_no_more_buffers_than_the_kernel_does() -> None:
    transport = Taking()
    chunks: list[Records] = [b"%05d" % index * 4 for index in range(3000)]
    whole = b"".join(cast(list[bytes], chunks))
    assert send_at_once(cast(Transport, transport), chunks)
    assert b"".join(transport.taken) == whole


@pytest.fixture
def file(tmp_path: Path) -> Iterator[LogFile]:
    """A file of 4 MB, in the page cache."""
    path = tmp_path / "segment"
    path.write_bytes(bytes(4 * MB))
    file = LogFile(path.parent, path.name, OpenFiles())
    yield file
    assert not file.in_use
    file.close()


def test_the_kernel_is_told_that_a_file_follows(file: LogFile) -> None:
    """It fills a packet with what comes before the file and the file's first bytes."""
    transport = Taking()
    assert send_at_once(cast(Transport, transport), [b"head", FileSlice(file, 0, MB // 2), b"end"])
    assert transport.flags == [socket.MSG_MORE, 0, 0]


def test_of_many_little_slices_no_more_is_read_than_is_sent(file: LogFile) -> None:
    chunks: list[Records] = [FileSlice(file, 0, 16_000) for _ in range(250)]
    assert send_at_once(cast(Transport, Taking()), chunks)
    assert sum(not isinstance(each, FileSlice) for each in chunks) <= 1
    assert len(chunks) > 150
    close_slices(chunks)


def test_a_slice_that_is_on_the_disk_only_is_left_to_a_thread(
    file: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileSlice, "is_cached", lambda *_: False)
    transport = Taking()
    chunks: list[Records] = [b"head", FileSlice(file, 0, MB)]
    assert not send_at_once(cast(Transport, transport), chunks)
    assert transport.taken == [b"head"]
    assert len(chunks) == 1
    close_slices(chunks)
