"""The codec of one API in one version: usual frames, odd ones, huge ones, and responses."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any

import pytest

from kafkalite.wire.api_codec import ApiCodec, codec_of, drained
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, decode_response, encode_request
from kafkalite.wire.errors import InvalidMessage, Malformed, ProtocolViolation, Unbuilt
from kafkalite.wire.fields import unsigned_varint
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalite.wire.parse_support import FEW_ELEMENTS, ManyElements
from kafkalite.wire.rows import SharedResponse, rows_of
from tests.freed_in_steps import alive, without_collections

HEARTBEAT_4 = bytes.fromhex("000c 0004 00000007 0002 6d65 00 02 67 00000003 03 6d31 00 00")
HEARTBEAT = HeartbeatRequest("g", 3, "m1")


def metadata_frame(count: int, version: int = 12) -> bytes:
    body = MetadataRequest([MetadataRequestTopic(name="t")] * count)
    return join(encode_request(ApiKey.METADATA, version, 7, "me", body))[4:]


@pytest.mark.parametrize(("key", "version"), [(12, 5), (12, -1), (4, 0), (93, 0)])
def test_an_api_or_version_that_is_not_there(key: int, version: int) -> None:
    with pytest.raises(KeyError):
        ApiCodec(key, version)


def test_there_is_one_codec_of_each_kind() -> None:
    assert codec_of(12, 4) is codec_of(12, 4)
    assert codec_of(12, 4) is not codec_of(12, 4, rows=True)


@pytest.mark.parametrize("kind", [bytes, memoryview])
@pytest.mark.parametrize("rows", [False, True])
def test_client_id_and_body(kind: type, rows: bool) -> None:
    codec = codec_of(12, 4, rows=rows)
    body: Any = rows_of(HEARTBEAT) if rows else HEARTBEAT
    assert codec.parse(kind(HEARTBEAT_4), 2) == ("me", body)
    without = HEARTBEAT_4.replace(b"\0\2me", b"\xff\xff", 1)
    assert codec.parse(kind(without), -1) == (None, body)


ODD = {
    "tags in the header": HEARTBEAT_4.replace(b"me\0", b"me\1\5\3abc"),
    "a client id that is no UTF-8": HEARTBEAT_4.replace(b"me", b"m\xff"),
    "a member id that is no UTF-8": HEARTBEAT_4.replace(b"m1", b"m\xff"),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("rows", [False, True])
def test_an_odd_frame_is_accepted_all_the_same(case: str, rows: bool) -> None:
    client_id, body = codec_of(12, 4, rows=rows).parse(ODD[case], 2)
    assert client_id == ("m\ufffd" if "client" in case else "me")
    expected = HeartbeatRequest("g", 3, "m\ufffd" if "member" in case else "m1")
    assert body == (rows_of(expected) if rows else expected)


@pytest.mark.parametrize("cut", [3, 9, 11, 13, len(HEARTBEAT_4) - 1])
def test_a_malformed_frame_is_explained_apart(cut: int) -> None:
    codec = codec_of(12, 4)
    with pytest.raises(Malformed, match="HeartbeatRequest is malformed"):
        drained(codec.parse_in_slices(HEARTBEAT_4[:cut]))
    error = codec.explain(HEARTBEAT_4[:cut])
    assert error.field_path.partition(".")[0] == (
        "RequestHeader" if cut < 13 else "HeartbeatRequest"
    )


def test_a_large_frame_is_not_explained() -> None:
    """It would take 50 microseconds for each of its elements."""
    frame = metadata_frame(40_000)[:-1]
    assert len(frame) > 65536
    error = codec_of(3, 12).explain(frame)
    assert (str(error), error.field_path) == ("MetadataRequest is malformed (byte 0)", "")


@pytest.mark.parametrize("rows", [False, True])
def test_a_frame_of_many_elements_is_to_be_parsed_in_slices(rows: bool) -> None:
    codec = codec_of(3, 12, rows=rows)
    frame = memoryview(metadata_frame(FEW_ELEMENTS + 1))
    with pytest.raises(ManyElements):
        codec.parse(frame, 2)
    slices = list(codec.parse_in_slices(frame))
    assert len(slices) == (FEW_ELEMENTS + 1) // 256
    client_id, body = drained(codec.parse_in_slices(frame))
    topics = (body if rows else rows_of(body))[0]
    assert (client_id, len(topics)) == ("me", FEW_ELEMENTS + 1)
    few = memoryview(metadata_frame(FEW_ELEMENTS))
    assert codec.parse(few, 2) == drained(codec.parse_in_slices(few))


def long_named_frame(count: int) -> bytes:
    topics = [MetadataRequestTopic(name=f"{n}" + "t" * 32_000) for n in range(count)]
    return join(encode_request(ApiKey.METADATA, 12, 7, "me", MetadataRequest(topics)))[4:]


@pytest.mark.parametrize("rows", [False, True])
def test_long_texts_count_as_many_elements(rows: bool) -> None:
    codec = codec_of(3, 12, rows=rows)
    many = memoryview(long_named_frame(200))
    with pytest.raises(ManyElements):
        codec.parse(many, 2)
    assert len(list(codec.parse_in_slices(many))) > 20
    client_id, body = drained(codec.parse_in_slices(many))
    expected: Any = decode_request(bytes(many)).body
    assert (client_id, body) == ("me", rows_of(expected) if rows else expected)
    few = memoryview(long_named_frame(100))
    assert codec.parse(few, 2) == drained(codec.parse_in_slices(few))


@pytest.mark.parametrize("rows", [False, True])
def test_very_many_bytes_are_copied_in_slices(rows: bool) -> None:
    codec = codec_of(ApiKey.SYNC_GROUP, 5, rows=rows)
    whole = bytes(range(256)) * 40_000
    request = SyncGroupRequest(assignments=[SyncGroupRequestAssignment("m", whole)])
    frame = memoryview(join(encode_request(ApiKey.SYNC_GROUP, 5, 7, "me", request))[4:])
    with pytest.raises(ManyElements):
        codec.parse(frame, 2)
    assert len(list(codec.parse_in_slices(frame))) >= len(whole) >> 20
    _, body = drained(codec.parse_in_slices(frame))
    assert body == (rows_of(request) if rows else request)


# With tagged fields that are declared (Fetch) and without.
TAGGED = {ApiKey.FETCH: FetchRequest(), ApiKey.METADATA: MetadataRequest([])}
MANY_TAGS = unsigned_varint(20_000) + b"\x63\3abc" * 20_000


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("key", TAGGED)
def test_very_many_unknown_tags_are_passed_over_in_slices(key: int, rows: bool) -> None:
    codec = codec_of(key, 12, rows=rows)
    whole = join(encode_request(key, 12, 7, "me", TAGGED[key]))[4:]
    frame = memoryview(whole[:-1] + MANY_TAGS)
    with pytest.raises(ManyElements):
        codec.parse(frame, 2)
    assert len(list(codec.parse_in_slices(frame))) >= 20_000 // 256
    body: Any = drained(codec.parse_in_slices(frame))[1]
    assert body == (rows_of(TAGGED[key]) if rows else TAGGED[key])


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("key", TAGGED)
def test_unknown_tags_of_many_bytes_are_passed_over(key: int, rows: bool) -> None:
    codec = codec_of(key, 12, rows=rows)
    body: Any = copy(TAGGED[key])
    body.unknown_tagged_fields = ((99, bytes(10_000_000)),)
    frame = memoryview(join(encode_request(key, 12, 7, "me", body))[4:])
    if not rows:
        with pytest.raises(ManyElements):
            codec.parse(frame, 2)
    assert drained(codec.parse_in_slices(frame))[1] == (rows_of(body) if rows else TAGGED[key])


@pytest.mark.parametrize("rows", [False, True])
def test_very_many_tags_of_elements_are_passed_over_in_slices(rows: bool) -> None:
    topic = MetadataRequestTopic(name="t")
    topic.unknown_tagged_fields = tuple((99 + n, b"") for n in range(100))
    codec = codec_of(3, 12, rows=rows)
    request = MetadataRequest([topic] * 200)
    frame = memoryview(join(encode_request(3, 12, 7, "me", request))[4:])
    with pytest.raises(ManyElements):
        codec.parse(frame, 2)
    assert len(list(codec.parse_in_slices(frame))) >= 200 * 100 // 256
    request = MetadataRequest([MetadataRequestTopic(name="t")] * 200)
    body = drained(codec.parse_in_slices(frame))[1]
    assert body == (rows_of(request) if rows else request)


@pytest.mark.parametrize("rows", [False, True])
def test_very_many_tags_of_a_header_are_passed_over_in_slices(rows: bool) -> None:
    codec = codec_of(12, 4, rows=rows)
    frame = memoryview(HEARTBEAT_4.replace(b"me\0", b"me" + MANY_TAGS))
    with pytest.raises(Malformed):
        codec.parse(frame, 2)
    assert len(list(codec.parse_in_slices(frame))) >= 20_000 // 256
    assert drained(codec.parse_in_slices(frame)) == codec.parse(HEARTBEAT_4, 2)
    frame = memoryview(HEARTBEAT_4.replace(b"me\0", b"me" + unsigned_varint(50_000)))
    with pytest.raises(ProtocolViolation, match="more than 32,771"):
        drained(codec.parse_in_slices(frame))


@pytest.mark.parametrize("rows", [False, True])
def test_what_is_not_there_does_not_count(rows: bool) -> None:
    """A length that is wrong is malformed, and not very much."""
    request = SyncGroupRequest(assignments=[SyncGroupRequestAssignment("m", b"x" * 100_000)])
    frame = join(encode_request(ApiKey.SYNC_GROUP, 5, 7, "me", request))[4:]
    length = unsigned_varint(100_001)
    assert frame.count(length) == 1
    frame = frame.replace(length, unsigned_varint(2_000_000_000))
    with pytest.raises(Malformed):
        codec_of(ApiKey.SYNC_GROUP, 5, rows=rows).parse(memoryview(frame), 2)


@pytest.mark.parametrize("rows", [False, True])
def test_a_response_of_long_texts_is_built_in_small_chunks(rows: bool) -> None:
    topics = [MetadataResponseTopic(name=f"{n}" + "t" * 32_000) for n in range(200)]
    codec = codec_of(3, 12, rows=rows)
    response: Any = MetadataResponse(topics=topics)
    response = rows_of(response) if rows else response
    assert sum(1 for _ in codec.build_in_slices(7, response)) > 20
    chunks = drained(codec.build_in_slices(7, response))
    assert max(map(len, chunks)) < 1_500_000
    assert join(chunks) == join(codec.build(7, response))


def test_a_response_begins_with_its_length() -> None:
    response = HeartbeatResponse(throttle_time_ms=1, error_code=27)
    assert codec_of(12, 0).build(7, response) == [bytes.fromhex("00000006 00000007 001b")]
    flexible = bytes.fromhex("0000000c 00000007 00 00000001 001b 00")
    assert codec_of(12, 4).build(7, response) == [flexible]
    assert codec_of(12, 4, rows=True).build(7, rows_of(response)) == [flexible]


@pytest.mark.parametrize("rows", [False, True])
def test_a_response_that_does_not_fit_is_named(rows: bool) -> None:
    wrong = HeartbeatResponse(error_code=1 << 15)
    codec, response = codec_of(12, 4, rows=rows), rows_of(wrong) if rows else wrong
    with pytest.raises(Unbuilt):
        codec.build(7, response)
    with pytest.raises(Unbuilt):
        drained(codec.build_in_slices(7, response))
    with pytest.raises(InvalidMessage) as caught:
        codec.build_declared(7, response)
    assert caught.value.field_path == "HeartbeatResponse.error_code"


def test_unknown_tagged_fields_of_a_response_are_written() -> None:
    response = HeartbeatResponse()
    response.unknown_tagged_fields = ((5, b"abc"),)
    with pytest.raises(Unbuilt):
        codec_of(12, 4).build(7, response)
    (chunk,) = codec_of(12, 4).build_declared(7, response)
    assert decode_response(12, 4, bytes(chunk)[4:]) == (7, response)


def test_a_shared_response_is_built_once_and_has_each_its_correlation_id() -> None:
    codec = codec_of(3, 7, rows=True)
    row = rows_of(MetadataResponse(topics=[MetadataResponseTopic(name="t")]))
    shared = SharedResponse(row)
    first = codec.build(7, shared)
    shared.row = ()  # is not looked at again
    second = codec.build(8, shared)
    assert first == codec.build(7, row)
    assert second == codec.build(8, row)


def metadata_response(count: int) -> MetadataResponse:
    partitions = [MetadataResponsePartition(replica_nodes=[1]) for _ in range(count)]
    return MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)])


@pytest.mark.parametrize("version", [0, 12])
@pytest.mark.parametrize("rows", [False, True])
def test_a_response_in_slices_is_that_in_one_go(version: int, rows: bool) -> None:
    codec = codec_of(3, version, rows=rows)
    response: Any = metadata_response(2000)
    response = rows_of(response) if rows else response
    steps = codec.build_in_slices(7, response)
    assert sum(1 for _ in steps) == 2000 // 256
    chunks = drained(codec.build_in_slices(7, response))
    assert join(chunks) == join(codec.build(7, response))
    assert len(chunks) > 1  # its parts are joined as it goes


def test_a_response_in_slices_may_be_odd_too() -> None:
    response = metadata_response(600)
    response.unknown_tagged_fields = ((9, b"x"),)
    codec = codec_of(3, 12)
    with pytest.raises(Unbuilt):
        drained(codec.build_in_slices(7, response))
    (declared,) = codec.build_declared(7, response)
    assert decode_response(3, 12, bytes(declared)[4:]) == (7, response)


def test_a_shared_response_is_built_in_slices_too() -> None:
    shared = SharedResponse(rows_of(metadata_response(3)))
    rows = codec_of(3, 12, rows=True)
    assert drained(rows.build_in_slices(7, shared)) == rows.build(7, shared.row)


def test_records_in_a_response_in_slices_are_chunks_of_their_own() -> None:
    class InFile:
        def __len__(self) -> int:
            return 1000

    piece = InFile()
    partitions = [PartitionData(0, records=piece), PartitionData(1, records=b"abc")]
    body = FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])
    codec = codec_of(1, 12)
    chunks = drained(codec.build_in_slices(7, body))
    assert chunks[1] is piece
    assert chunks == codec.build(7, body)
    assert int.from_bytes(chunks[0][:4], "big") == sum(map(len, chunks)) - 4


@pytest.mark.parametrize("rows", [False, True])
def test_what_was_parsed_of_a_huge_frame_that_is_refused_goes_little_by_little(rows: bool) -> None:
    """Freed at once, a million objects take a tenth of a second."""
    codec = codec_of(ApiKey.METADATA, 12, rows=rows)
    steps = codec.parse_in_slices(metadata_frame(50_000)[:-3])
    counts: list[int] = []
    with without_collections(), pytest.raises(Malformed):
        counts.extend(alive() for _ in steps)
    freed = [before - after for before, after in pairwise(counts)]
    assert max(counts) - counts[-1] > 40_000
    assert max(freed) < 5000
