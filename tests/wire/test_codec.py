"""Frames by hand, both directions, and what is wrong with wrong ones."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, decode_response, encode_request, encode_response
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation, UnsupportedVersion
from kafkalite.wire.message_codec import join, parse_body
from kafkalite.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.wire.messages.create_topics import CreateTopicsResponse
from kafkalite.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.reference import parse_declared
from kafkalite.wire.schema import message_of

HEARTBEAT_0 = bytes.fromhex("000c 0000 00000007 0002 6d65 0001 67 00000003 0002 6d31")
HEARTBEAT_4 = bytes.fromhex("000c 0004 00000007 0002 6d65 00 02 67 00000003 03 6d31 00 00")
HEARTBEAT = HeartbeatRequest("g", 3, "m1")


@pytest.mark.parametrize(("version", "frame"), [(0, HEARTBEAT_0), (4, HEARTBEAT_4)])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_request_by_hand(version: int, frame: bytes, kind: type) -> None:
    request = decode_request(kind(frame))
    assert (request.api_key, request.api_version) == (ApiKey.HEARTBEAT, version)
    assert (request.correlation_id, request.client_id) == (7, "me")
    assert request.body == HEARTBEAT
    encoded = join(encode_request(ApiKey.HEARTBEAT, version, 7, "me", HEARTBEAT))
    assert encoded == len(frame).to_bytes(4, "big") + frame


def test_response_by_hand() -> None:
    response = HeartbeatResponse(throttle_time_ms=1, error_code=27)
    assert encode_response(12, 0, 7, response) == [bytes.fromhex("00000006 00000007 001b")]
    flexible = bytes.fromhex("0000000c 00000007 00 00000001 001b 00")
    assert encode_response(12, 4, 7, response) == [flexible]
    assert decode_response(12, 4, flexible[4:]) == (7, response)


def test_a_null_client_id() -> None:
    frame = bytes.fromhex("000c 0000 00000007 ffff 0001 67 00000003 0002 6d31")
    assert decode_request(frame).client_id is None


def test_a_field_that_is_absent_takes_its_default() -> None:
    """Metadata below 4 has no allow_auto_topic_creation, and means true."""
    frame = bytes.fromhex("0003 0001 00000007 ffff 00000000")
    assert decode_request(frame).body == MetadataRequest([], allow_auto_topic_creation=True)


def test_the_response_to_api_versions_has_no_tags_in_its_header() -> None:
    body = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4)])
    (chunk,) = encode_response(ApiKey.API_VERSIONS, 3, 7, body)
    assert chunk[:11] == bytes.fromhex("00000013 00000007 0000 02")
    assert decode_response(ApiKey.API_VERSIONS, 3, chunk[4:]) == (7, body)


def test_records_pass_through_uncopied() -> None:
    class InFile:
        def __len__(self) -> int:
            return 1000

    piece = InFile()
    partitions = [PartitionData(0, records=piece), PartitionData(1, records=b"abc")]
    body = FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])
    chunks = encode_response(ApiKey.FETCH, 12, 7, body)
    assert chunks[1] is piece
    assert chunks[3] == b"abc"
    assert int.from_bytes(chunks[0][:4], "big") == sum(map(len, chunks)) - 4

    produced = [PartitionProduceData(0, b"12345")]
    produce = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=produced)])
    frame = bytearray(join(encode_request(ApiKey.PRODUCE, 9, 1, None, produce)))[4:]
    records = decode_request(frame).body.topic_data[0].partition_data[0].records
    assert records == b"12345"
    frame[frame.index(b"12345")] = ord("X")
    assert records == b"X2345", "the records were copied"


def test_unknown_tagged_fields_are_kept_and_written_back() -> None:
    frame = HEARTBEAT_4[:-1] + bytes.fromhex("02 05 03 616263 07 00")
    body = decode_request(frame).body
    assert body.unknown_tagged_fields == ((5, b"abc"), (7, b""))
    assert join(encode_request(12, 4, 7, "me", body))[4:] == frame


def test_bytes_after_a_request_are_passed_over() -> None:
    assert decode_request(HEARTBEAT_4 + b"\1\0\0").body == decode_request(HEARTBEAT_4).body
    assert decode_request(HEARTBEAT_0 + b"\0").body == decode_request(HEARTBEAT_0).body


WRONG = {
    "nothing at all": ("", "RequestHeader.request_api_key", 0),
    "half a header": ("000c 0004 0000", "RequestHeader.correlation_id", 4),
    "a client id beyond the end": ("000c 0004 00000007 0009 6d", "RequestHeader.client_id", 8),
    "a negative client id": ("000c 0004 00000007 fffe 6d65", "RequestHeader.client_id", 8),
    "cut in an integer": (
        "000c 0000 00000007 ffff 0001 67 0000",
        "HeartbeatRequest.generation_id",
        13,
    ),
    "null for a string": ("000c 0000 00000007 ffff ffff", "HeartbeatRequest.group_id", 10),
    "a negative length": ("000c 0000 00000007 ffff fffe", "HeartbeatRequest.group_id", 10),
    "an endless varint": (
        "000c 0004 00000007 ffff 00 ffffffffffff",
        "HeartbeatRequest.group_id",
        11,
    ),
    "a giant string": ("000c 0004 00000007 ffff 00 ffffffff07", "HeartbeatRequest.group_id", 11),
    "a giant array": ("0003 0001 00000007 ffff 7fffffff", "MetadataRequest.topics", 10),
    "a negative array": ("0003 0001 00000007 ffff fffffffe", "MetadataRequest.topics", 10),
    "in an element": (
        "0003 0001 00000007 ffff 00000001 0005 61",
        "MetadataRequest.topics[0].name",
        14,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_and_where(case: str) -> None:
    frame, path, position = WRONG[case]
    with pytest.raises(ProtocolViolation) as caught:
        decode_request(bytes.fromhex(frame))
    assert (caught.value.field_path, caught.value.position) == (path, position)


@pytest.mark.parametrize("head", ["000c 0005", "000c ffff", "0004 0000", "7fff 0000", "ffff 0000"])
def test_an_api_or_version_that_is_not_there(head: str) -> None:
    frame = bytes.fromhex(head + "00000007 0002 6d65 beef")
    with pytest.raises(UnsupportedVersion) as caught:
        decode_request(frame)
    assert (caught.value.correlation_id, caught.value.client_id) == (7, "me")
    assert caught.value.api_key == int.from_bytes(frame[:2], "big", signed=True)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (HeartbeatRequest(group_id=5), "group_id"),
        (HeartbeatRequest(group_id=None), "group_id"),
        (HeartbeatRequest(group_id="x" * 40000), "group_id"),
        (HeartbeatRequest(group_id="\ud800"), "group_id"),
        (HeartbeatRequest(generation_id=1 << 31), "generation_id"),
    ],
)
@pytest.mark.parametrize("version", [0, 4])
def test_a_message_that_cannot_be_sent(version: int, body: HeartbeatRequest, path: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        encode_request(ApiKey.HEARTBEAT, version, 7, "me", body)
    assert caught.value.field_path == f"HeartbeatRequest.{path}"


def test_malformed_text_is_replaced_as_kafka_does() -> None:
    frame = HEARTBEAT_4.replace(b"m1", b"m\xff")
    assert decode_request(frame).body.member_id == "m\ufffd"


def test_topic_ids() -> None:
    topic_id = UUID("01234567-89ab-cdef-0123-456789abcdef")
    produce = ProduceRequest(topic_data=[TopicProduceData(topic_id=topic_id)])
    frame = join(encode_request(ApiKey.PRODUCE, 13, 1, None, produce))[4:]
    assert topic_id.bytes in frame
    assert decode_request(frame).body == produce


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 126, 127, 128, 300])
@pytest.mark.parametrize("version", [0, 12])
def test_arrays_of_any_length(version: int, count: int) -> None:
    """Short ones have a struct.Struct of their own, long ones a varint of two bytes before them."""
    partition = MetadataResponsePartition(replica_nodes=list(range(count)), isr_nodes=[1])
    topic = MetadataResponseTopic(name="t", partitions=[partition])
    chunks = encode_response(ApiKey.METADATA, version, 7, MetadataResponse(topics=[topic]))
    _, body = decode_response(ApiKey.METADATA, version, join(chunks)[4:])
    assert body.topics[0].partitions[0].replica_nodes == list(range(count))
    length = (count + 1) if version else count
    encoded = struct.pack(f">{count}i", *range(count))
    if not version:
        assert struct.pack(">i", length) + encoded in join(chunks)
    elif length < 128:
        assert bytes([length]) + encoded in join(chunks)
    else:
        assert bytes([length & 0x7F | 0x80, length >> 7]) + encoded in join(chunks)


@pytest.mark.parametrize("kind", [HeartbeatResponse, CreateTopicsResponse])
def test_a_negative_count_of_tags_is_none(kind: type[Any]) -> None:
    """Java reads the count as an int, and its loop ends before it begins."""
    version, zeros = message_of(kind).max_version, b"\0" * (6 if kind is HeartbeatResponse else 4)
    body = zeros + (b"\1" if kind is CreateTopicsResponse else b"") + b"\xff\xff\xff\xff\x0f"
    assert parse_body(kind, version, body) == parse_declared(kind, version, body, 0)[0] == kind()
