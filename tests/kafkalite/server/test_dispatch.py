"""Bad input closes the connection it came by, with one line in the log; others are served."""

from __future__ import annotations

import logging
import struct
import subprocess
import sys

import pytest
import trio

from kafkalite.wire.api_keys import ApiKey
from tests.kafkalite.frames import GOOD


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 1, 3) + b"bad"


BAD_INPUT = {
    "negative size": struct.pack(">i", -1),
    "giant size": struct.pack(">i", 2**31 - 1),
    "one more than socket.request.max.bytes": struct.pack(">i", 104857601),
    "unknown API": frame(header(999, 0)),
    "negative API key": frame(header(-1, 0)),
    "API of another listener": frame(header(ApiKey.VOTE, 0)),
    "version too high": frame(header(ApiKey.METADATA, 99)),
    "version too low": frame(header(ApiKey.FETCH, 3)),
    "Produce 0": frame(header(ApiKey.PRODUCE, 0) + struct.pack(">hii", 1, 1000, 0)),
    "Produce 2": frame(header(ApiKey.PRODUCE, 2) + struct.pack(">hii", 1, 1000, 0)),
    "no header": frame(b""),
    "half a header": frame(b"\0\x12\0"),
    "garbage in the body": frame(header(ApiKey.LIST_OFFSETS, 1) + b"\xde\xad\xbe\xef" * 5),
    "a body cut short": frame(header(ApiKey.LIST_OFFSETS, 1) + b"\xff\xff\xff\xff\0\0"),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100c8010000c40303") + bytes(200),
}


@pytest.mark.parametrize("sent", BAD_INPUT.values(), ids=BAD_INPUT.keys())
async def test_bad_input(clients, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    other = await clients.connect()
    await other.ask(GOOD)
    caplog.clear()
    bad = await clients.connect()
    await bad.stream.send_all(sent)
    assert await bad.is_closed()
    assert await other.ask(GOOD)
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "connection closed" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None


async def test_requests_after_bad_input_are_not_looked_at(clients) -> None:
    bad = await clients.connect()
    await bad.send(GOOD)
    await bad.stream.send_all(frame(header(999, 0)))
    await bad.stream.send_all(frame(header(ApiKey.API_VERSIONS, 0)))
    assert await bad.answer()
    with pytest.raises((AssertionError, trio.BrokenResourceError)):
        await bad.frame()


# In a process of its own, as the tests before this one have imported every handler.
FIRST_REQUESTS = """
import socket, sys, threading
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

GROUP = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
OFFSETS = DescribeShareGroupOffsetsRequest(groups=[GROUP])

# Printed at the end: lines that two threads print at once mix.
lines = []

class Finder:
    def find_spec(self, name, path, target=None):
        in_loop = threading.current_thread().name == "kafkalite"
        if name in ("kafkalite.apis.metadata", "kafkalite.apis.list_groups"):
            lines.append(f"{name} {in_loop}")
        elif in_loop and name.startswith(("kafkalite", "construct")):
            lines.append(f"in the loop {name}")

with broker() as running:
    sys.meta_path.insert(0, Finder())
    host, _, port = running.bootstrap.rpartition(":")
    client = socket.create_connection((host, int(port)))
    for correlation_id, (key, version, request) in enumerate((
        (ApiKey.METADATA, 9, MetadataRequest(topics=[])),
        (ApiKey.LIST_GROUPS, 4, ListGroupsRequest()),
        (ApiKey.METADATA, 8, MetadataRequest(topics=[])),
        (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=["g"])),
        (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, OFFSETS),
        (ApiKey.STREAMS_GROUP_DESCRIBE, 0, StreamsGroupDescribeRequest(group_ids=["g"])),
    )):
        chunks = encode_request(key, version, correlation_id, "me", request)
        client.sendall(b"".join(map(bytes, chunks)))
    stream = client.makefile("rb")
    for _ in range(6):
        frame = stream.read(int.from_bytes(stream.read(4)))
        lines.append(f"answer {int.from_bytes(frame[:4])}")
    # The codec that explains a broken frame takes 0.3 s to import.
    broken = b"\\0\\0\\0\\x16" + b"\\0\\2\\0\\1" + b"\\0\\0\\0\\7\\0\\2me" + b"\\xff" * 10
    client.sendall(broken)
    lines.append(f"closed {stream.read() == b''}, explained {'construct' in sys.modules}")
print("\\n".join(lines))
"""


@pytest.mark.slow
def test_a_handler_is_imported_off_the_loop_and_answers_stay_in_order() -> None:
    command = [sys.executable, "-c", FIRST_REQUESTS]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    lines = output.splitlines()
    assert [line for line in lines if line.startswith("kafkalite.apis.")] == [
        "kafkalite.apis.metadata False",
        "kafkalite.apis.list_groups False",
    ]
    assert [line for line in lines if line.startswith("answer")] == [
        f"answer {number}" for number in range(6)
    ]
    assert "closed True, explained True" in lines
    assert [line for line in lines if line.startswith("in the loop")] == []
