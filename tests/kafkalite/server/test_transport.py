"""The layer under a connection: a plain socket, and another one in its place."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import trio

from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.server import transport as transports
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.server.transport import PlainTransport, Transport
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite import one_connection
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    in_task_and_loop,
    receive,
)

MASK = bytes(each ^ 0x5A for each in range(256))


@pytest.fixture
def pair() -> Iterator[tuple[PlainTransport, socket.socket]]:
    listening = socket.create_server(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname())
    accepted, _ = listening.accept()
    listening.close()
    ours = PlainTransport.over(accepted)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_plain_transport_is_a_non_blocking_socket(
    pair: tuple[PlainTransport, socket.socket], tmp_path: Path
) -> None:
    ours, theirs = pair
    plain: Transport = ours
    with pytest.raises(BlockingIOError):
        plain.recv(10)
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    assert plain.send(b"ab", 0) == 2
    assert plain.send_buffers([b"c", memoryview(b"de")], 0) == 3
    assert plain.send_file(descriptor, 2, 3) == 3
    assert plain.send_file(descriptor, 10, 3) == 0
    os.close(descriptor)
    assert theirs.recv(100) == b"abcde234"
    assert not plain.has_input
    assert not plain.has_output


def test_a_reset_is_seen_as_one(pair: tuple[PlainTransport, socket.socket]) -> None:
    ours, theirs = pair
    ours.reset()
    with pytest.raises(ConnectionResetError) as error:
        theirs.recv(1)
    assert error.value.errno == errno.ECONNRESET


class Masked:
    """A layer that changes each byte, receives ahead, and holds back what it is given to send.

    As TLS does: input may be left in it when the socket has none, and output, too.
    """

    def __init__(self, sock: PlainTransport) -> None:
        self._socket = sock
        self._received = b""
        self._held = b""

    @classmethod
    def over(cls, sock: socket.socket) -> Masked:
        return cls(PlainTransport.over(sock))

    @property
    def has_input(self) -> bool:
        return bool(self._received)

    @property
    def has_output(self) -> bool:
        return bool(self._held)

    def recv(self, size: int, /) -> bytes:
        if not self._received:
            self._received = self._socket.recv(size).translate(MASK)
        size = min(size, 7)
        data, self._received = self._received[:size], self._received[size:]
        return data

    def recv_into(self, buffer: memoryview, /) -> int:
        data = self.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def send(self, data: InMemory, flags: int, /) -> int:
        if self._held:
            self._held = self._held[self._socket.send(self._held, 0) :]
        if self._held:
            raise BlockingIOError
        self._held = bytes(data).translate(MASK)
        return len(data)

    def send_buffers(self, buffers: Sequence[InMemory], flags: int) -> int:
        return self.send(b"".join(buffers), flags)

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        return self.send(os.pread(descriptor, min(size, 1000), position), 0)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def reset(self) -> None:
        self._socket.reset()


@pytest.mark.parametrize("in_task", [False, True])
@in_task_and_loop
async def test_a_layer_that_keeps_bytes_back_loses_none(
    loop: Loop | None, in_task: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_connection, "PlainTransport", Masked)
    path = tmp_path / "segment"
    content = bytes(range(256)) * 200
    path.write_bytes(content)
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if in_task:
            await connection.context.connection.move_to_task()
        if bytes(frame) == FETCH:
            return [b"head", FileSlice(file, 0, len(content)), b"tail"]
        return [framed(bytes(frame))]

    large = PRODUCE + bytes(200_000)
    requests = framed(PRODUCE, FETCH, large, PRODUCE)
    expected = framed(PRODUCE) + b"head" + content + b"tail" + framed(large, PRODUCE)
    async with connected(answer, loop) as (stream, _), trio.open_nursery() as nursery:
        nursery.start_soon(stream.send_all, requests.translate(MASK))
        with trio.fail_after(30):
            assert (await receive(stream, len(expected))).translate(MASK) == expected
    file.close()


def test_the_seam_is_what_the_broker_uses() -> None:
    """One layer more is one class with these methods."""
    assert {name for name in vars(transports.Transport) if not name.startswith("_")} <= {
        name for name in dir(Masked) if not name.startswith("_")
    }
