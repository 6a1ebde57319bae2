"""Frames are cut the same, however the bytes happen to come in."""

import struct
from mmap import mmap
from os import sysconf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.server.frame_reader import _MAPPED_BYTES, RECEIVE_BYTES, FrameReader
from kafkalite.wire.errors import ProtocolViolation


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * sysconf("SC_PAGE_SIZE")


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def receive(reader: FrameReader, data: bytes, sizes: list[int]) -> list[bytes]:
    """Give `data` to the reader as a socket would, in pieces of at most those sizes, in turn."""
    frames: list[bytes] = []
    position, turn = 0, 0
    while position < len(data):
        room = reader.room()
        most = RECEIVE_BYTES if room is None else len(room)
        piece = data[position : position + min(most, sizes[turn % len(sizes)])]
        if room is None:
            reader.feed(piece)
        else:
            room[: len(piece)] = piece
            reader.filled(len(piece))
        position += len(piece)
        turn += 1
        while (frame := reader.next_frame()) is not None:
            frames.append(bytes(frame))
    return frames


def test_many_small_frames_in_one_piece() -> None:
    reader = FrameReader(1000)
    assert receive(reader, framed(b"a", b"", b"bcd"), [4096]) == [b"a", b"", b"bcd"]
    assert not reader.has_input


@given(
    st.lists(st.integers(0, 3 * RECEIVE_BYTES), min_size=1, max_size=6),
    st.lists(st.integers(1, 2 * RECEIVE_BYTES), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_any_frames_in_any_pieces(sizes: list[int], pieces: list[int]) -> None:
    if max(pieces) < 100:
        pieces.append(5000)  # or a long frame takes for ever
    bodies = [bytes([index + 1]) * size for index, size in enumerate(sizes)]
    reader = FrameReader(4 * RECEIVE_BYTES)
    assert receive(reader, framed(*bodies), pieces) == bodies
    assert not reader.has_input


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_size_out_of_bounds_is_refused(size: int) -> None:
    reader = FrameReader(1000)
    reader.feed(struct.pack(">i", size))
    with pytest.raises(ProtocolViolation, match=str(size)):
        reader.next_frame()


def test_a_large_announcement_takes_memory_only_as_bytes_come_in() -> None:
    reader = FrameReader(100 * 1024 * 1024)
    reader.feed(struct.pack(">i", 100 * 1024 * 1024) + b"x")
    assert reader.next_frame() is None
    room = reader.room()
    assert room is not None
    assert len(room) < 5 * 1024 * 1024


def test_what_follows_a_frame_is_seen() -> None:
    reader = FrameReader(1000)
    reader.feed(framed(b"first") + b"\0\0")
    assert reader.next_frame() == b"first"
    assert reader.has_input


def test_a_small_frame_stays_readable_after_the_next_was_received() -> None:
    reader = FrameReader(1000)
    reader.feed(framed(b"first"))
    first = reader.next_frame()
    reader.feed(framed(b"second"))
    assert reader.next_frame() == b"second"
    assert first == b"first"


def test_a_buffer_grows_with_what_came_and_not_with_what_was_announced() -> None:
    reader = FrameReader(100_000_000)
    reader.feed(struct.pack(">i", 100_000_000) + bytes(RECEIVE_BYTES - 4))
    assert reader.next_frame() is None
    received = RECEIVE_BYTES - 4
    while received < _MAPPED_BYTES // 2:
        room = reader.room()
        assert room is not None
        assert received + len(room) <= max(2 * received, 2 * RECEIVE_BYTES)
        reader.filled(len(room))
        received += len(room)
        assert reader.next_frame() is None


def test_a_very_large_buffer_is_mapped_and_takes_memory_as_bytes_come_in() -> None:
    size = 100_000_000
    reader = FrameReader(size)
    # All that the test itself makes is there before.
    data = struct.pack(">i", size) + bytes(RECEIVE_BYTES - 4 + _MAPPED_BYTES)
    before = resident_bytes()
    assert receive(reader, data, [RECEIVE_BYTES]) == []
    assert resident_bytes() - before < 2 * _MAPPED_BYTES
    frame, holders = None, set[int]()
    while frame is None:
        room = reader.room()
        assert room is not None
        assert type(room.obj) is mmap
        assert len(room) <= 1 << 20, "the system may have as much as there is room"
        holders.add(id(room.obj))
        reader.filled(len(room))
        frame = reader.next_frame()
    assert isinstance(frame, memoryview)
    assert holders == {id(frame.obj)}, "nothing is copied any more"
    assert len(frame) == size


def test_a_mapped_buffer_has_what_was_received_and_is_given_back() -> None:
    reader = FrameReader(100_000_000)
    body = bytes(range(256)) * 100_000
    assert receive(reader, framed(body, b"next"), [RECEIVE_BYTES, 1_000_000, 7]) == [body, b"next"]
    before = resident_bytes()
    receive(reader, framed(body), [RECEIVE_BYTES])
    assert resident_bytes() - before < len(body) // 2


def test_large_buffers_are_given_back_after_their_frame() -> None:
    reader = FrameReader(100_000_000)
    size = 5_000_000
    receive(reader, framed(bytes(size)), [RECEIVE_BYTES])
    reader.feed(struct.pack(">i", size))
    assert reader.next_frame() is None
    room = reader.room()
    assert room is not None
    assert len(room) < size / 10


@pytest.mark.parametrize(
    ("first", "protocol"),
    [(b"\x16\x03\x01\x02", "TLS"), (b"\x16\x03\x03\x00", "TLS"), (b"GET ", "HTTP")],
)
def test_other_protocols_are_known_by_their_first_bytes(first: bytes, protocol: str) -> None:
    """A TLS client's hello would be a frame of 369295618 bytes."""
    reader = FrameReader(100_000_000)
    reader.feed(first + bytes(100))
    with pytest.raises(ProtocolViolation, match=f"{protocol} was spoken to a plaintext port"):
        reader.next_frame()
