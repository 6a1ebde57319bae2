"""Messages without a header: the generated code first, the reference codec for anything odd."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.message_codec import build_body, builder_of, join, parse_body, parser_of
from kafkalite.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkalite.wire.messages.heartbeat import HeartbeatRequest

HEARTBEAT = HeartbeatRequest("g", 3, "m1")
BYTES = bytes.fromhex("02 67 00000003 03 6d31 00 00")


@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_there_and_back(kind: type) -> None:
    assert build_body(HEARTBEAT, 4) == [BYTES]
    assert parse_body(HeartbeatRequest, 4, kind(BYTES)) == HEARTBEAT
    assert parse_body(HeartbeatRequest, 4, kind(b"head" + BYTES), 4) == HEARTBEAT


def test_a_body_fills_its_buffer() -> None:
    with pytest.raises(ProtocolViolation, match="2 bytes left over"):
        parse_body(HeartbeatRequest, 4, BYTES + b"\0\0")


def test_malformed_text_is_read_as_kafka_does() -> None:
    damaged = BYTES.replace(b"m1", b"m\xff")
    assert parse_body(HeartbeatRequest, 4, damaged).member_id == "m\ufffd"


def test_a_mistake_is_named_with_its_place() -> None:
    with pytest.raises(ProtocolViolation) as caught:
        parse_body(HeartbeatRequest, 4, BYTES[:4])
    assert caught.value.field_path == "HeartbeatRequest.generation_id"
    with pytest.raises(InvalidMessage) as refused:
        build_body(HeartbeatRequest("g", 1 << 31), 4)
    assert refused.value.field_path == "HeartbeatRequest.generation_id"


def test_unknown_tagged_fields_are_written_back() -> None:
    body = parse_body(HeartbeatRequest, 4, BYTES[:-1] + bytes.fromhex("01 05 01 ff"))
    assert body.unknown_tagged_fields == ((5, b"\xff"),)
    assert join(build_body(body, 4)) == BYTES[:-1] + bytes.fromhex("01 05 01 ff")


def test_parsers_and_builders_are_made_once_for_each_version() -> None:
    assert parser_of(HeartbeatRequest, 3) is parser_of(HeartbeatRequest, 3)
    assert parser_of(HeartbeatRequest, 3) is not parser_of(HeartbeatRequest, 4)
    assert parser_of(HeartbeatRequest, 3) is not parser_of(HeartbeatRequest, 3, in_memoryview=True)
    assert builder_of(HeartbeatRequest, 3) is builder_of(HeartbeatRequest, 3)
    assert builder_of(HeartbeatRequest, 3) is not builder_of(HeartbeatRequest, 4)


def test_chunks_in_memory_are_joined() -> None:
    partitions = [PartitionData(0, records=b"abc"), PartitionData(1, records=memoryview(b"def"))]
    body = FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])
    chunks = build_body(body, 12)
    assert [bytes(chunk) for chunk in chunks[1::2]] == [b"abc", b"def"]
    assert parse_body(FetchResponse, 12, join(chunks)) == body
    assert join([chunks[0]]) is chunks[0]


def test_a_chunk_that_lies_elsewhere_cannot_be_joined() -> None:
    class InFile:
        def __len__(self) -> int:
            return 3

    with pytest.raises(InvalidMessage, match="not in memory"):
        join([b"before", InFile()])


def test_construct_is_imported_only_for_something_odd() -> None:
    program = (
        "import sys; from kafkalite.wire.message_codec import build_body, parse_body;"
        "from kafkalite.wire.messages.heartbeat import HeartbeatRequest;"
        "sound = build_body(HeartbeatRequest('g', 3, 'm'), 4)[0];"
        "parse_body(HeartbeatRequest, 4, sound); print('construct' in sys.modules);"
        "parse_body(HeartbeatRequest, 4, sound.replace(b'm', b'\\xff'));"
        "print('construct' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert shown.stdout.split() == ["False", "True"]
