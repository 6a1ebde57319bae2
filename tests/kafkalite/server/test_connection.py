"""One connection: order, batching, early answers to what is parked, and every bad end."""

from __future__ import annotations

import logging
import os
import socket
import struct
from math import inf
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel
from trio.testing import wait_all_tasks_blocked

from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.server.transport import PlainTransport
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    hosted,
    receive,
    receive_all,
)
from tests.log.test_joined_writes import Turn


async def test_pipelined_requests_are_answered_in_order() -> None:
    sent = framed(*(PRODUCE + bytes([index]) * index for index in range(200)))
    async with connected() as (stream, _):
        await stream.send_all(sent)
        assert await receive(stream, len(sent)) == sent


async def test_answers_larger_than_the_client_takes_at_once_keep_their_order() -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [framed(bytes(frame) * 50_000)]

    requests = [PRODUCE + bytes([index]) for index in range(40)]
    expected = framed(*(request * 50_000 for request in requests))
    async with connected(answer) as (stream, _):
        await stream.send_all(framed(*requests))
        await wait_all_tasks_blocked()
        assert await receive(stream, len(expected)) == expected
        # And then the loop serves again.
        await stream.send_all(framed(PRODUCE))
        assert await receive(stream, 4 + 100_000) == framed(PRODUCE * 50_000)


async def test_a_handler_that_is_never_continued_is_closed() -> None:
    left = trio.Event()

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        connection.abort()
        try:
            await connection.context.connection.move_to_task()
        finally:
            left.set()
        raise AssertionError("it went on")

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        await left.wait()


async def test_small_slices_of_files_go_out_with_what_is_around_them(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789")
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [b"head", FileSlice(file, 2, 3), b"tail"]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        assert await receive(stream, 11) == b"head234tail"
        assert not file.in_use
    file.close()


async def test_a_segment_shorter_than_promised_ends_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"01234")
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [b"head", FileSlice(file, 2, 30)]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        assert b"tail" not in await receive_all(stream)
        assert not file.in_use
    file.close()


async def test_a_large_frame_between_small_ones() -> None:
    sent = framed(PRODUCE + b"a", PRODUCE + bytes(300_000), FETCH + b"b")
    async with connected() as (stream, _), trio.open_nursery() as nursery:
        nursery.start_soon(stream.send_all, sent)
        assert await receive(stream, len(sent)) == sent


async def test_no_answer_to_what_needs_none() -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [] if bytes(frame) == PRODUCE else [framed(bytes(frame))]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(PRODUCE, FETCH))
        assert await receive(stream, 6) == framed(FETCH)


async def test_earlier_answers_do_not_wait_for_a_parked_request() -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) == FETCH:
            await connection.context.connection.move_to_task()
            await trio.sleep_forever()
        return [framed(bytes(frame))]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(PRODUCE, PRODUCE, FETCH))
        assert await receive(stream, 12) == framed(PRODUCE, PRODUCE)


async def test_slices_of_files_are_sent_in_place_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    content = bytes(range(256)) * 5000
    path.write_bytes(content)
    slices: list[FileSlice] = []
    files = OpenFiles()
    file = LogFile(path.parent, path.name, files)

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        slices.extend([FileSlice(file, 10, 1_000_000), FileSlice(file, 0, 0)])
        return [b"head", slices[0], b"middle", slices[1], b"tail"]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        expected = b"head" + content[10:1_000_010] + b"middletail"
        assert await receive(stream, len(expected)) == expected
        await wait_all_tasks_blocked()
        assert not file.in_use
    file.close()


async def test_a_client_that_does_not_read_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(5_000_000))
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        return [b"head", FileSlice(file, 0, 5_000_000)]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        assert file.in_use
        await stream.aclose()
        await wait_all_tasks_blocked()
        assert not file.in_use
    file.close()


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes"),
    ],
)
async def test_a_size_out_of_bounds_closes_the_connection(
    sent: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (stream, _):
        await stream.send_all(sent)
        assert await receive_all(stream) == b""
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"10.0.0.1:5555: connection closed: {reason}" in caplog.text


@pytest.mark.parametrize("sent", [b"\0\0", framed(b"whole") + b"\0\0\0\x09half"])
async def test_a_half_sent_frame_is_one_line_in_the_log(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (stream, _):
        await stream.send_all(sent)
        await stream.send_eof()
        await receive_all(stream)
    assert len(caplog.records) == 1
    assert "in the middle of a frame" in caplog.text


@pytest.mark.parametrize("error", [ProtocolViolation("garbage"), CloseConnection("garbage")])
async def test_what_cannot_be_answered_closes_the_connection(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) == FETCH:
            raise error
        return [framed(bytes(frame))]

    caplog.set_level(logging.INFO)
    async with connected(answer) as (stream, _):
        await stream.send_all(framed(PRODUCE, FETCH, PRODUCE))
        assert await receive_all(stream) == framed(PRODUCE)
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is None
    assert "garbage" in caplog.text


async def test_what_came_before_bad_input_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as (stream, _):
        await stream.send_all(framed(PRODUCE, PRODUCE) + struct.pack(">i", -7))
        assert await receive_all(stream) == framed(PRODUCE, PRODUCE)
    assert len(caplog.records) == 1


async def test_an_error_of_ours_is_logged_whole_and_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        raise ZeroDivisionError("a mistake in a handler")

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(PRODUCE))
        assert await receive_all(stream) == b""
    assert caplog.records[0].exc_info is not None


async def test_stopping_answers_what_is_in_flight_first() -> None:
    go_on = trio.Event()

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        await connection.context.connection.move_to_task()
        await go_on.wait()
        return [framed(bytes(frame))]

    async with connected(answer) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        connection.stop()
        await wait_all_tasks_blocked()
        go_on.set()
        assert await receive_all(stream) == framed(FETCH)


async def test_stopping_ends_an_idle_connection_and_a_parked_request() -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        await connection.context.connection.wait_until(lambda: False, [], inf, answer_early=True)
        return [framed(bytes(frame))]

    async with connected() as (stream, connection):
        await wait_all_tasks_blocked()
        connection.stop()
        assert await receive_all(stream) == b""
    async with connected(answer) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        connection.stop()
        assert await receive_all(stream) == framed(FETCH)


@pytest.mark.parametrize(
    ("size", "send", "receive"),
    [(None, 204_800, None), (-1, None, None), (20_000, 40_000, 40_000)],
)
async def test_sizes_of_socket_buffers(
    connect: Any, size: int | None, send: int | None, receive: int | None
) -> None:
    """Linux doubles what it is told, for its own bookkeeping. None: what it tunes itself."""
    set_sizes = {"socket.send.buffer.bytes": size, "socket.receive.buffer.bytes": size}
    async with test_broker({} if size is None else set_sizes) as b:
        await (await connect(b)).ask(ApiVersionsRequest(), 0)
        (connection,) = b._running._connections._open
        for option, expected in ((socket.SO_SNDBUF, send), (socket.SO_RCVBUF, receive)):
            found = connection._transport.getsockopt(socket.SOL_SOCKET, option)
            assert (found if found in (40_000, 204_800) else None) == expected


@pytest.mark.parametrize("size", [10, 70_000], ids=["at the end", "in between"])
def test_what_is_joined_is_written_before_a_response_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    turn, unwritten = Turn(tmp_path), list[int]()

    def send(transport: PlainTransport, data: Any, flags: int) -> int:
        unwritten.append(len(turn.joined))
        return socket.socket.send(transport, data, flags)

    def answer(connection: Connection, frame: InMemory) -> list[Records]:
        turn.ask(b"v")
        assert len(turn.joined) == 1
        return [framed(bytes(size))]

    async def check(loop: Loop) -> None:
        turn.joined = loop.joined_writes
        async with connected(answer, loop) as (stream, _):
            with trio.fail_after(30):
                await stream.send_all(framed(PRODUCE, PRODUCE, PRODUCE))
                await receive(stream, 3 * (size + 4))

    monkeypatch.setattr(PlainTransport, "send", send, raising=False)
    hosted(check)
    assert set(unwritten) == {0}
    assert turn.log.log_end_offset == 3


def test_a_request_that_goes_on_early_reads_what_was_written(tmp_path: Path) -> None:
    turn, unwritten = Turn(tmp_path), list[int]()

    async def wait(connection: Connection) -> list[Records]:
        asked = connection.context.connection
        await asked.wait_until(lambda: False, [], inf, answer_early=True)
        unwritten.append(len(turn.joined))
        return [framed(FETCH)]

    def answer(connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        if frame == FETCH:
            return wait(connection)
        turn.ask(b"v")
        return [framed(bytes(frame))]

    async def check(loop: Loop) -> None:
        turn.joined = loop.joined_writes
        async with connected(answer, loop) as (first, _), connected(answer, loop) as (second, _):
            with trio.fail_after(30):
                await first.send_all(framed(FETCH))
                await wait_all_tasks_blocked()
                await trio.sleep(0.05)
                # Both before the loop sees either.
                os.write(second.socket.fileno(), framed(PRODUCE))
                os.write(first.socket.fileno(), framed(PRODUCE))
                await receive(second, 6)
                await receive(first, 12)

    hosted(check)
    assert unwritten == [0]
