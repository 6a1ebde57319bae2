"""Bytes between a transport and a channel, by a socket that takes little and one that hangs up."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kafkalite.requests.context import CloseConnection
from kafkalite.server.channel import Channel, ChannelEvent, ChannelState
from kafkalite.server.channel_io import flush, log_end, receive
from kafkalite.server.transport import PlainTransport
from kafkalite.wire.errors import ProtocolViolation
from tests.kafkalite.one_connection import framed

TURN_ENDS = float("inf")


@dataclass
class Ends:
    """A channel with its transport, and the client's socket."""

    channel: Channel
    transport: PlainTransport
    client: socket.socket

    def receive(self) -> None:
        receive(self.transport, self.channel)

    def flush(self) -> bool:
        return flush(self.transport, self.channel)


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    channel = Channel(
        1 << 20, lambda frame: [framed(bytes(frame))], lambda: 0.0, steps_coroutines=True
    )
    made = Ends(channel, PlainTransport.over(ours), theirs)
    yield made
    made.transport.close()
    theirs.close()


def fill(ends: Ends) -> int:
    """Output until the socket takes no more; how many bytes."""
    chunk = bytes(1 << 16)
    count = 0
    while True:
        ends.channel.output.append(chunk)
        count += len(chunk)
        if not ends.flush():
            return count


def drain(client: socket.socket, size: int) -> bytes:
    client.settimeout(5)
    data = b""
    while len(data) < size:
        data += client.recv(1 << 16)
    return data


def test_nothing_to_receive_is_no_end(ends: Ends) -> None:
    ends.receive()
    assert not ends.channel.is_ending


def test_what_comes_is_answered(ends: Ends) -> None:
    ends.client.sendall(framed(b"one", b"two"))
    ends.receive()
    ends.channel.answer(TURN_ENDS)
    assert ends.flush()
    assert ends.client.recv(100) == framed(b"one", b"two")


def test_a_large_frame_is_received_in_place(ends: Ends) -> None:
    """Its rest goes where the frame is: `room` says where, and `recv_into` fills it."""
    body = bytes(range(256)) * 1000
    sent = framed(body)
    ends.client.sendall(sent[:1000])
    ends.receive()
    at = 1000
    while at < len(sent):
        at += ends.client.send(sent[at : at + 50_000])
        ends.receive()
    while ends.channel.reader.has_input and not ends.channel.output:
        ends.receive()
        ends.channel.answer(TURN_ENDS)
    assert b"".join(map(bytes, ends.channel.output)) == sent


def test_a_client_that_hangs_up_between_frames_ends(ends: Ends) -> None:
    ends.client.shutdown(socket.SHUT_WR)
    ends.receive()
    assert ends.channel.is_ending


def test_a_client_that_hangs_up_within_a_frame_breaks_the_protocol(ends: Ends) -> None:
    ends.client.sendall(framed(b"one")[:-1])
    ends.receive()
    ends.client.shutdown(socket.SHUT_WR)
    with pytest.raises(ProtocolViolation, match="in the middle of a frame"):
        ends.receive()


def test_what_the_socket_does_not_take_waits_for_room(ends: Ends) -> None:
    count = fill(ends)
    assert ends.channel.state is ChannelState.WRITING
    assert not ends.flush(), "there is still no room"
    got = 0
    while ends.channel.output:
        got += len(ends.client.recv(1 << 20))
        ends.flush()
    assert ends.channel.state is ChannelState.READING
    assert got + len(drain(ends.client, count - got)) == count


def test_no_byte_is_lost_or_sent_twice(ends: Ends) -> None:
    data = bytes(range(256)) * 8000
    ends.channel.output.append(data)
    ends.client.settimeout(5)
    got = b""
    while not ends.flush():
        got += ends.client.recv(1 << 16)
    assert got + drain(ends.client, len(data) - len(got)) == data


def test_a_task_sends_what_is_left_before_anything_else(ends: Ends) -> None:
    """Its state does not change: it is the task that waits for room."""
    ends.channel.happened(ChannelEvent.MOVE_TO_TASK)
    fill(ends)
    assert ends.channel.state is ChannelState.IN_TASK


def test_a_client_that_is_gone_is_an_error_of_the_socket(ends: Ends) -> None:
    ends.client.close()
    ends.channel.output.append(b"x")
    with pytest.raises(OSError, match="Broken pipe"):
        ends.flush()


@pytest.mark.parametrize(
    ("error", "level", "said"),
    [
        (ProtocolViolation("too large"), logging.WARNING, "me: connection closed: too large"),
        (CloseConnection("it may not"), logging.INFO, "me: connection closed: it may not"),
        (CloseConnection("it may not", is_told=True), None, ""),
        (ConnectionResetError("reset by peer"), logging.DEBUG, "me: connection lost: reset"),
        (OSError(errno.EHOSTUNREACH, "no route"), logging.DEBUG, "me: connection lost: [Errno"),
        (
            OSError(errno.EIO, "the disk", "a.log"),
            logging.WARNING,
            "me: connection closed: [Errno 5] the disk: 'a.log'",
        ),
        (ssl.SSLError(5, "syscall"), logging.DEBUG, "me: connection lost: "),  # 5 is EIO elsewhere
        (
            OSError(errno.EMFILE, "too many open files"),
            logging.WARNING,
            "me: connection closed: [Errno 24] too many open files",
        ),
        (
            ValueError("a fault of ours"),
            logging.ERROR,
            "me: connection closed: a request could not be answered",
        ),
    ],
)
def test_one_line_says_why_a_connection_ends(
    error: Exception, level: int | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        log_end("me", error)
    assert [record.levelno for record in caplog.records] == ([] if level is None else [level])
    assert all(record.message.startswith(said) for record in caplog.records)
    assert ("Traceback" in caplog.text) is False
    assert all(bool(record.exc_info) == (level == logging.ERROR) for record in caplog.records)


def test_a_broken_message_is_said_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    log_end("me", ProtocolViolation("no such value", field_path="topics.name", position=12))
    (message,) = caplog.messages
    assert "topics.name" in message
    assert "12" in message
