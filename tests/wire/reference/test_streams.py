"""The streams of the reference codec."""

import io

import pytest

from kafkalite.wire.reference.streams import ChunkStream, Frame, bytes_left


def test_a_frame_is_read_from_a_position_on() -> None:
    frame = Frame(memoryview(b"abcdef"), 2)
    assert (frame.read(2), frame.tell()) == (b"cd", 4)
    assert (frame.read(9), frame.tell()) == (b"ef", 6)
    assert (frame.read(), frame.read(1)) == (b"", b"")


def test_seeking() -> None:
    frame = Frame(b"abcdef", 0)
    assert (frame.seek(4), frame.read(1)) == (4, b"e")
    assert frame.seek(-1, io.SEEK_CUR) == 4
    assert frame.seek(-2, io.SEEK_END) == 4
    assert frame.read() == b"ef"


def test_a_frame_is_not_copied() -> None:
    buffer = bytearray(b"abcdef")
    view = Frame(buffer, 0).view
    buffer[0] = ord("X")
    assert view == b"Xbcdef"


@pytest.mark.parametrize("stream", [Frame(b"abcdef", 2), io.BytesIO(b"abcd")])
def test_the_bytes_that_are_left(stream: io.RawIOBase) -> None:
    assert bytes_left(stream) == 4
    stream.read(3)
    assert bytes_left(stream) == 1
    assert stream.tell() in (3, 5)  # where it was


class InFile:
    def __len__(self) -> int:
        return 1000


def test_chunks_pass_through_between_the_bytes() -> None:
    stream, piece = ChunkStream(), InFile()
    stream.write(b"before")
    stream.pass_through(piece)
    stream.pass_through(b"")  # nothing is no chunk
    stream.write(b"after")
    stream.end_chunk()
    stream.end_chunk()
    assert stream.chunks == [b"before", piece, b"after"]
    assert stream.chunks[1] is piece
