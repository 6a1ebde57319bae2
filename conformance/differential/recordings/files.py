"""A recording as a file: frames one after the other, each with its connection and direction, as xz.

Directories of the recorded broker stand in its answers; they are blanked, in place.
"""

from __future__ import annotations

import lzma
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.harness.recording_proxy import Passed

HERE = Path(__file__).parent
# Connection, whether it is a request, size of the frame.
_HEAD = struct.Struct(">H?I")

# Recorded names begin like this; a replay uses others of the same length.
RECORDED, REPLAYED = "recorded-", "replayed-"
NAME = RECORDED + 10 * "0"


def recordings() -> list[str]:
    """The clients of which there is a recording."""
    return sorted(file.stem for file in HERE.glob("*.xz"))


def read(client: str) -> list[Passed]:
    return list(frames(lzma.decompress(file_of(client).read_bytes())))


def frames(data: bytes) -> Iterator[Passed]:
    position = 0
    while position < len(data):
        connection, is_request, size = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        yield Passed(connection, is_request, data[position : position + size])
        position += size


def write(client: str, recording: Sequence[Passed], directory: Path) -> int:
    """Keep the recording of a broker whose data lay below `directory`; the file's size in bytes."""
    place = str(directory.absolute()).encode()
    data = b"".join(
        _HEAD.pack(passed.connection, passed.is_request, len(passed.frame))
        + passed.frame.replace(place, b"." * len(place))
        for passed in recording
    )
    return file_of(client).write_bytes(lzma.compress(data, preset=9))


def file_of(client: str) -> Path:
    return HERE / f"{client}.xz"
