"""Kafka's frames by hand, on a plain socket: for what no client would send.

Written from the protocol and on purpose without kafkalite.wire: a mistake there must not hide
itself here.
"""

import socket
import struct
import zlib
from types import TracebackType
from typing import Self

import crc32c

SECONDS = 10.0


def string(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def compact_string(value: str) -> bytes:
    """Short ones only: the length is one byte of varint."""
    data = value.encode()
    return bytes([len(data) + 1]) + data


def header(api_key: int, api_version: int, correlation_id: int, *, flexible: bool = False) -> bytes:
    """Request header v1, or v2 when flexible, from a client called "raw"."""
    tags = b"\0" if flexible else b""
    return struct.pack(">hhi", api_key, api_version, correlation_id) + string("raw") + tags


class RawConnection:
    """One connection; `request` sends header and body in a frame, `receive` reads a frame."""

    def __init__(self, bootstrap: str, seconds: float = SECONDS) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """These bytes, no frame around them."""
        self.socket.sendall(data)

    def send_frame(self, payload: bytes) -> None:
        self.send(struct.pack(">i", len(payload)) + payload)

    def receive(self) -> bytes:
        """The next frame without its length; raises ConnectionError when the peer closed."""
        (length,) = struct.unpack(">i", self.read_exactly(4))
        return self.read_exactly(length)

    def read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError(f"closed after {len(data)} of {size} bytes")
            data += piece
        return bytes(data)

    def ask(self, payload: bytes) -> bytes:
        """Send a frame, and the answer's frame."""
        self.send_frame(payload)
        return self.receive()

    def is_closed_by_peer(self) -> bool:
        """True when the next thing to come is the end; fails on data, raises TimeoutError."""
        try:
            data = self.socket.recv(1)
        except ConnectionResetError:
            return True
        assert data == b"", f"an answer came instead of the end: {data!r}"
        return True


def living_broker_count(bootstrap: str) -> int:
    """The number of brokers that Metadata lists. 0 when nothing answers there yet."""
    try:
        with RawConnection(bootstrap, seconds=5) as connection:
            no_topics = struct.pack(">i", 0)
            answer = connection.ask(header(3, 1, 1) + no_topics)
    except OSError:
        return 0
    (count,) = struct.unpack_from(">i", answer, 4)
    return int(count)


def record_batch(*values: bytes, timestamp_ms: int = 1_000_000) -> bytes:
    """An uncompressed v2 batch of records without keys and headers, each shorter than 56 bytes."""
    records = b""
    for number, value in enumerate(values):
        # attributes, timestamp delta, offset delta, key length -1, value length, value, headers
        body = bytes([0, 0, number * 2, 1, len(value) * 2]) + value + b"\0"
        assert len(body) < 64, "one byte of zigzag varint"
        records += bytes([len(body) * 2]) + body
    after_crc = (
        struct.pack(
            ">hiqqqhii", *(0, len(values) - 1, timestamp_ms, timestamp_ms, -1, -1, -1, len(values))
        )
        + records
    )
    checked = struct.pack(">ibI", -1, 2, crc32c.crc32c(after_crc)) + after_crc
    return struct.pack(">qi", 0, len(checked)) + checked


def old_message(
    magic: int, key: bytes | None, value: bytes | None, timestamp_ms: int = 0, attributes: int = 0
) -> bytes:
    """A message of version 0 or 1, as brokers took it before there were batches."""
    time = struct.pack(">q", timestamp_ms) if magic else b""
    parts = b"".join(
        struct.pack(">i", -1 if each is None else len(each)) + (each or b"")
        for each in (key, value)
    )
    checked = struct.pack(">bb", magic, attributes) + time + parts
    return struct.pack(">qiI", 0, len(checked) + 4, zlib.crc32(checked)) + checked


def produce_v3(
    topic: str, records: bytes, *, acks: int = 1, partition: int = 0, correlation_id: int = 7
) -> bytes:
    """A Produce request, version 3, for one partition."""
    return (
        header(0, 3, correlation_id)
        + struct.pack(">hhi", -1, acks, 10_000)
        + struct.pack(">i", 1)
        + string(topic)
        + struct.pack(">iii", 1, partition, len(records))
        + records
    )


def produced_v3(answer: bytes) -> tuple[int, int]:
    """The error code and base offset in a Produce answer, version 3, for one partition."""
    (name_length,) = struct.unpack_from(">h", answer, 8)
    error, base_offset = struct.unpack_from(">hq", answer, 8 + 2 + name_length + 4 + 4)
    return error, base_offset
