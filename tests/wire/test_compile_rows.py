"""Rows say what messages say: every message of an API that is served as rows, in every version.

The rows of a frame are the message of the frame, field by field, sound or broken. A response built
of rows is the response built of the message, byte by byte.
"""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.harness.messages import every_version, few, instances, name_of
from conformance.harness.random_messages import broken, random_message
from kafkalite.apis import APIS
from kafkalite.wire.api_codec import codec_of, drained
from kafkalite.wire.codec import encode_request
from kafkalite.wire.compile_source import FEW, format_of_numbers
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import NO_UUID, FieldType
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalite.wire.rows import message_of_row, rows_of
from kafkalite.wire.schema import KeptRow, Kind, Shape, fields_of, message_of

HOT = frozenset(api.key for api in APIS.values() if api.rows)

BROKEN_FRAMES = 60  # of each request in each version


def hot(kind: Kind) -> list[tuple[type[Any], int]]:
    return [
        case
        for case in every_version()
        if message_of(case[0]).kind is kind and message_of(case[0]).key in HOT
    ]


def parsed(key: int, version: int, frame: Any, *, rows: bool) -> Any:
    """Client id and body, as a row; or what is wrong with the frame."""
    try:
        client_id, body = codec_of(key, version, rows=rows).parse(
            frame, int.from_bytes(frame[8:10], "big", signed=True)
        )
    except ProtocolViolation as error:
        return str(error)
    return client_id, body if rows else rows_of(body)


@pytest.mark.slow
@pytest.mark.parametrize("case", hot(Kind.REQUEST), ids=name_of)
@few
@given(data=st.data())
def test_a_request_s_rows_are_its_message(case: tuple[type[Any], int], data: st.DataObject) -> None:
    class_, version = case
    message = message_of(class_)
    body = data.draw(instances(class_, version, message.is_flexible(version)))
    frame = join(encode_request(message.key, version, 77, "me", body))[4:]
    for buffer in (frame, memoryview(frame)):
        assert parsed(message.key, version, buffer, rows=True) == ("me", rows_of(body))


@pytest.mark.slow
@pytest.mark.parametrize("case", hot(Kind.REQUEST), ids=name_of)
def test_a_broken_request_is_read_alike(case: tuple[type[Any], int]) -> None:
    class_, version = case
    key = message_of(class_).key
    random = Random(f"{name_of(case)}")
    for _ in range(BROKEN_FRAMES):
        body = random_message(random, class_, version)
        whole = join(encode_request(key, version, 7, "me", body))[4:]
        frame = broken(random, whole, whole)
        if len(frame) < 10:
            continue
        assert parsed(key, version, frame, rows=True) == parsed(key, version, frame, rows=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", hot(Kind.RESPONSE), ids=name_of)
@few
@given(data=st.data())
def test_a_response_of_rows_is_that_of_the_message(
    case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    key = message_of(class_).key
    body = data.draw(instances(class_, version))
    row = rows_of(body)
    built = codec_of(key, version, rows=True).build(7, row)
    assert built == codec_of(key, version).build(7, body)
    assert message_of_row(class_, row) == body


@pytest.mark.parametrize("case", hot(Kind.RESPONSE), ids=name_of)
@few
@given(data=st.data())
def test_what_a_version_would_lose_is_refused_alike(
    case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    key, last = message_of(class_).key, message_of(class_).max_version
    body = data.draw(instances(class_, last))  # with fields that older versions do not have

    def built(response: Any, *, rows: bool) -> Any:
        try:
            return codec_of(key, version, rows=rows).build(7, response)
        except InvalidMessage as error:
            return str(error)

    assert built(rows_of(body), rows=True) == built(body, rows=False)


def rows_of_numbers(body: Any, version: int) -> list[list[Any]]:
    """The lists of a message, at any depth, whose elements have nothing but numbers."""
    found: list[list[Any]] = []
    for field in fields_of(type(body)):
        value = getattr(body, field.name)
        if isinstance(field.element, FieldType) or not value:
            continue
        items = value if isinstance(value, list) else [value]
        if field.shape is Shape.ARRAY and format_of_numbers(field.element, version):
            found.append(items)
        for each in items:
            found += rows_of_numbers(each, version)
    return found


@pytest.mark.parametrize("case", hot(Kind.REQUEST), ids=name_of)
def test_many_rows_of_numbers_are_read_at_once(case: tuple[type[Any], int]) -> None:
    """Unknown tagged fields in one of them are passed over."""
    class_, version = case
    message = message_of(class_)
    random = Random(f"{name_of(case)}")
    for _ in range(20):
        body = random_message(random, class_, version)
        for tagged in (False, True):
            many = [rows for rows in rows_of_numbers(body, version) if len(rows) > FEW]
            if tagged and message.is_flexible(version):
                for rows in many:
                    random.choice(rows).unknown_tagged_fields = ((1000, b"abc"),)
            frame = join(encode_request(message.key, version, 77, "me", body))[4:]
            for buffer in (frame, memoryview(frame)):
                read = parsed(message.key, version, buffer, rows=True)
                assert read == ("me", rows_of(body))


def test_rows_of_numbers_are_met() -> None:
    """Fetch, ListOffsets and others have some: one call reads them, if they are many."""
    random = Random(7)
    met: set[str] = set()
    for class_, version in [*hot(Kind.REQUEST), *hot(Kind.RESPONSE)]:
        for _ in range(20):
            body = random_message(random, class_, version)
            if any(len(rows) > FEW for rows in rows_of_numbers(body, version)):
                met.add(f"{class_.__name__} {version}")
    assert {"FetchRequest 13", "FetchRequest 18", "ListOffsetsRequest 4"} <= met
    assert {"ListOffsetsResponse 7", "OffsetCommitResponse 8", "FetchRequest 4"} <= met


@pytest.mark.parametrize("case", hot(Kind.RESPONSE), ids=name_of)
def test_many_rows_of_numbers_are_written_at_once(case: tuple[type[Any], int]) -> None:
    class_, version = case
    key = message_of(class_).key
    random = Random(f"{name_of(case)}")
    for _ in range(20):
        body = random_message(random, class_, version)
        rows, messages = both(key, version, body)
        assert rows == messages
        whole = drained(codec_of(key, version, rows=True).build_in_slices(7, rows_of(body)))
        assert join(whole) == join(messages)


def both(key: int, version: int, response: Any) -> tuple[Any, Any]:
    rows = codec_of(key, version, rows=True).build(7, rows_of(response))
    return rows, codec_of(key, version).build(7, response)


@pytest.mark.parametrize("version", [0, 4, 9, 13])
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"error_code": 5},
        {"replica_nodes": [1, 2]},
        {"offline_replicas": [3]},
        {"leader_epoch": 7},
    ],
)
def test_a_usual_element_and_an_unusual_one(version: int, changed: dict[str, Any]) -> None:
    """A usual element is written at once, another one field by field: the bytes are the same."""
    partitions = [MetadataResponsePartition(), MetadataResponsePartition(**changed)]
    topic = MetadataResponseTopic(name="t", partitions=partitions)
    rows, messages = both(3, version, MetadataResponse(topics=[topic]))
    assert rows == messages


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("in_slices", [False, True])
def test_a_kept_row_is_built_once_and_its_bytes_are_those_of_the_row(
    version: int, in_slices: bool
) -> None:
    partitions = [MetadataResponsePartition(partition_index=index) for index in range(300)]
    small = MetadataResponseTopic(name="t", partitions=partitions[:2])
    # Its parts are joined to a chunk before it is whole, where it is built in slices.
    large = MetadataResponseTopic(name="u", partitions=partitions * 10)
    response = MetadataResponse(topics=[small, large, small])
    codec = codec_of(3, version, rows=True)
    plain = rows_of(response)
    kept = [KeptRow(topic) for topic in plain[4]]

    def built(topics: Any) -> bytes:
        row = *plain[:4], topics, *plain[5:]
        if in_slices:
            return join(drained(codec.build_in_slices(7, row)))
        return join(codec.build(7, row))

    expected = built(plain[4])
    assert [built(kept) for _ in range(3)] == [expected] * 3
    assert [each.encoded is not None for each in kept] == [True, not in_slices, True]
    first = kept[0].encoded
    assert first is not None
    assert expected.count(first) == 2
    kept[0].encoded = b"what was kept"
    assert b"what was kept" in built(kept)


@pytest.mark.parametrize("version", range(5, 13))
@pytest.mark.parametrize("message", [None, "refused"])
def test_a_partition_with_and_without_an_error(version: int, message: str | None) -> None:
    usual = PartitionProduceResponse(1, base_offset=3)
    other = PartitionProduceResponse(
        2, error_code=87, error_message=message if version >= 8 else None
    )
    topic = TopicProduceResponse("t", partition_responses=[usual, other, usual])
    rows, messages = both(0, version, ProduceResponse(responses=[topic]))
    assert rows == messages


@pytest.mark.parametrize("version", range(1, 11))
@pytest.mark.parametrize("metadata", [None, "", "m", "m" * 300])
def test_a_committed_offset_with_and_without_metadata(version: int, metadata: str | None) -> None:
    """No text, null or empty, is written with the numbers around it."""
    response = OffsetFetchResponse()
    if version < 8:
        old = OffsetFetchResponsePartition(1, 2, 3 if version >= 5 else -1, metadata, 4)
        response.topics = [OffsetFetchResponseTopic("t", [old, old])]
    else:
        new = OffsetFetchResponsePartitions(1, 2, 3, metadata, 4)
        name, topic_id = ("", UUID(int=5)) if version >= 10 else ("t", NO_UUID)
        topic = OffsetFetchResponseTopics(name, topic_id, [new, new])
        response.groups = [OffsetFetchResponseGroup("g", [topic])]
    rows, messages = both(9, version, response)
    assert rows == messages


def test_unknown_tagged_fields_are_not_in_rows() -> None:
    body = MetadataRequest([])
    body.unknown_tagged_fields = ((9, b"x"),)
    frame = join(encode_request(3, 12, 7, "me", body))[4:]
    row = codec_of(3, 12, rows=True).parse(frame, 2)[1]
    assert row == rows_of(MetadataRequest([]))
