"""The streams of the reference codec: a frame read without a copy, and chunks collected."""

from __future__ import annotations

import io
from typing import BinaryIO

from kafkalite.wire.fields import InMemory, Records


class Frame(io.RawIOBase):
    """A frame that is being read, without a copy of it."""

    def __init__(self, buffer: InMemory, position: int) -> None:
        super().__init__()
        self.view = memoryview(buffer)
        self.position = position

    def read(self, size: int = -1) -> bytes:
        start = self.position
        self.position = min(start + size, len(self.view)) if size >= 0 else len(self.view)
        return bytes(self.view[start : self.position])

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: len(self.view)}[whence]
        self.position = start + offset
        return self.position


class ChunkStream(io.BytesIO):
    """Collects what is built, letting chunks pass through as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks: list[Records] = []

    def pass_through(self, chunk: Records) -> None:
        if len(chunk):
            self.end_chunk()
            self.chunks.append(chunk)

    def end_chunk(self) -> None:
        if self.tell():
            self.chunks.append(self.getvalue())
            self.seek(0)
            self.truncate()


def bytes_left(stream: BinaryIO) -> int:
    """The number of bytes from the stream's position to its end."""
    position = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(position)
    return end - position
