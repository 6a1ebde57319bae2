"""tshark's reading of a conversation: Wireshark's own dissector, given the bytes that passed.

The bytes are put into a capture file as TCP segments. So nothing is sniffed, which would take
privileges.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.harness.recording_proxy import Passed

_PORT: Final = 9092
_FIRST_CLIENT_PORT: Final = 20_000
_MOST_BYTES: Final = 60_000
# Magic, version 2.4, no time zone, whole packets, and packets that begin with IPv4.
_FILE_HEAD: Final = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 228)
_IPV4_AND_TCP_BYTES: Final = 40
_UNKNOWN: Final = -1
_FIELDS: Final = (
    "tcp.dstport",
    "kafka.len",
    "kafka.correlation_id",
    "kafka.request_key",
    "kafka.api_version",
    "kafka.client_id",
    "kafka.response_key",
)


@dataclass(frozen=True, slots=True)
class Dissected:
    """A request or an answer.

    An answer has the API of its request, if tshark could read that: it knows old versions whole,
    and the headers of all.
    """

    is_request: bool
    size: int
    correlation_id: int
    api_key: int
    version: int
    client_id: str


def capture(passed: Iterable[Passed]) -> Iterator[bytes]:
    """The bytes of a capture file. Each direction counts its bytes as TCP does."""
    yield _FILE_HEAD
    sent: dict[tuple[int, bool], int] = {}
    for number, each in enumerate(passed):
        data = struct.pack(">i", len(each.frame)) + each.frame
        client = _FIRST_CLIENT_PORT + each.connection
        ports = (client, _PORT) if each.is_request else (_PORT, client)
        for start in range(0, len(data), _MOST_BYTES):
            piece = data[start : start + _MOST_BYTES]
            mine = each.connection, each.is_request
            other = sent.get((each.connection, not each.is_request), 1)
            position = sent.get(mine, 1)
            sent[mine] = position + len(piece)
            size = _IPV4_AND_TCP_BYTES + len(piece)
            address = bytes((127, 0, 0, 1))
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 6, 0, address, address)
            tcp = struct.pack(">HHIIBBHHH", *ports, position, other, 5 << 4, 0x18, 0xFFFF, 0, 0)
            yield struct.pack("<IIII", number // 1000, number % 1000 * 1000, size, size)
            yield ip + tcp + piece


def dissected(passed: Iterable[Passed], directory: Path) -> list[Dissected]:
    """All that tshark finds in it. Raises FileNotFoundError where there is no tshark."""
    program = shutil.which("tshark")
    if program is None:
        raise FileNotFoundError("tshark")
    file = directory / "passed.pcap"
    file.write_bytes(b"".join(capture(passed)))
    as_kafka = ("-d", f"tcp.port=={_PORT},kafka", "-Y", "kafka")
    wanted = [word for name in _FIELDS for word in ("-e", name)]
    told = subprocess.run(
        [program, "-n", "-r", file, *as_kafka, "-T", "fields", "-E", "occurrence=f", *wanted],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return [_of(line.split("\t")) for line in told.stdout.splitlines()]


def _of(fields: list[str]) -> Dissected:
    port, size, correlation_id, asked, version, client_id, answered = fields
    is_request = int(port) == _PORT
    return Dissected(
        is_request,
        int(size),
        int(correlation_id),
        int((asked if is_request else answered) or _UNKNOWN),
        int(version or _UNKNOWN),
        client_id,
    )
