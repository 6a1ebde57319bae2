"""A request takes in memory at most four times its bytes, and 192 bytes for each element.

It may have 32,768 elements, and one more for 8 bytes each: 28 times its bytes and 6 MB in all.
tracemalloc measures it.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from conformance.harness.messages import every_message
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.codec import decode_request, encode_request
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import MAX_ELEMENTS, FieldType, unsigned_varint
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.schema import Field, Kind, Shape, fields_of, message_of
from tests.wire.fuzz import MOST_BYTES_PER_ELEMENT, outcome

EACH = 150
COUNT = 400
# Copartition groups of StreamsGroupHeartbeat: an object with three lists of a number in ten bytes.
MOST_TIMES = 38
MEGABYTE = 1 << 20


def peak_of(action: Callable[[], Any]) -> int:
    """The least of three: threads that other tests left in this process take memory, too."""
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        made = action()  # alive when measured
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        del made
    return min(peaks)


def dense(class_: type[Any], version: int, count: int) -> tuple[Any, int]:
    """A struct of whose arrays each has `count` elements, all of little in bytes and much in
    memory."""
    value, elements = class_(), 0
    for field in fields_of(class_):
        if field.is_in(version):
            made, more = dense_field(field, version, count)
            setattr(value, field.name, made)
            elements += more + (field.tag is not None)
    return value, elements


def dense_field(field: Field, version: int, count: int) -> tuple[Any, int]:
    repeat = count if field.shape is Shape.ARRAY else 1
    made, elements = [], 0
    for number in range(repeat):
        if isinstance(field.element, FieldType):
            made.append(dense_value(field.element, number))
        else:
            one, more = dense(field.element, version, 1)
            made.append(one)
            elements += more
    if field.shape is Shape.ARRAY:
        return made, elements + repeat
    return made[0], elements


def dense_value(type_: FieldType[Any], number: int) -> Any:
    if type_.name == "uuid":
        return UUID(int=number)
    if type_.name == "string":
        return "é"  # of its own, which an ASCII character is not
    if type_.name in ("bytes", "records"):
        return b"xy"
    if type_.name in ("bool", "float64"):
        return type_.default
    return 100 if type_.name == "int8" else 30000 - number


REQUESTS = [each for each in every_message() if message_of(each).kind is Kind.REQUEST]


@pytest.mark.slow
@pytest.mark.parametrize("class_", REQUESTS, ids=lambda class_: class_.__name__)
def test_what_an_element_takes(class_: type[Any]) -> None:
    message = message_of(class_)
    for version in {message.min_version, message.max_version}:
        body, elements = dense(class_, version, EACH)
        frame = join(encode_request(message.key, version, 7, None, body))[4:]
        few, _ = dense(class_, version, 1)
        small = join(encode_request(message.key, version, 7, None, few))[4:]
        for rows in (False, True):
            codec = codec_of(message.key, version, rows=rows)
            for buffer in (small, memoryview(small)):
                codec.parse(buffer, -1)  # whose parsers are made then
            peak = peak_of(lambda codec=codec, frame=frame: codec.parse(memoryview(frame), -1))
            assert peak <= 4 * len(frame) + MOST_BYTES_PER_ELEMENT * elements + 8192, version


def arrays_of(class_: type[Any], version: int) -> Iterator[tuple[Field, ...]]:
    """Every array of a message, at any depth, with the fields that lead to it."""
    for field in fields_of(class_):
        if not field.is_in(version):
            continue
        if field.shape is Shape.ARRAY:
            yield (field,)
        if isinstance(field.element, type):
            for path in arrays_of(field.element, version):
                yield (field, *path)


def with_small_elements(
    class_: type[Any], path: Sequence[Field], version: int, count: int, within: int
) -> Any:
    """A message of which one array has `count` elements, each of few bytes: all its fields are
    empty or null, and its own arrays have `within` such elements."""
    field, *deeper = path
    if not deeper:
        elements = [small(field.element, version, within, number) for number in range(count)]
        return class_(**{field.name: elements})
    assert isinstance(field.element, type)
    one = with_small_elements(field.element, deeper, version, count, within)
    return class_(**{field.name: [one] if field.shape is Shape.ARRAY else one})


def small(element: FieldType[Any] | type[Any], version: int, within: int, number: int) -> Any:
    if isinstance(element, FieldType):
        if element.name in ("int16", "uint16", "int32", "int64") and within:
            return 30_000 - number  # of its own, which a number below 257 is not
        return element.default if element.default is not None else ""
    value = element()
    for field in fields_of(element):
        if not field.is_in(version) or field.tag is not None:
            continue
        if field.shape is Shape.ARRAY:
            several = [small(field.element, version, within, number + i) for i in range(within)]
            setattr(value, field.name, several)
        elif field.nullable_in(version):
            setattr(value, field.name, None)
        elif isinstance(field.element, FieldType):
            setattr(value, field.name, small(field.element, version, within, number))
    return value


def counted(value: Any) -> int:
    """The array elements that a message is counted to have: of numbers, four are one."""
    elements = 0
    for field in fields_of(type(value)):
        inner = getattr(value, field.name)
        if field.shape is Shape.ARRAY and inner:
            are_numbers = isinstance(inner[0], int)
            elements += (len(inner) + 3) // 4 if are_numbers else len(inner)
        if isinstance(field.element, type) and inner is not None:
            structs = inner if field.shape is Shape.ARRAY else [inner]
            elements += sum(map(counted, structs))
    return elements


@pytest.mark.slow
@pytest.mark.parametrize("within", [0, 1, 2])
@pytest.mark.parametrize("class_", REQUESTS, ids=lambda class_: class_.__name__)
def test_a_frame_of_nothing_but_small_elements(class_: type[Any], within: int) -> None:
    """Every array in every version, as rows and as messages: the densest frames that there are."""
    message = message_of(class_)
    count = COUNT // (1 + 3 * within)
    flexible = message.flexible_since
    firsts = {message.min_version, message.max_version if flexible is None else flexible}
    for version in firsts | {message.max_version}:
        for path in arrays_of(class_, version):
            body = with_small_elements(class_, path, version, count, within)
            try:
                frame = join(encode_request(message.key, version, 7, None, body))[4:]
            except InvalidMessage:
                continue  # an array that may not be empty or null there
            for rows in (False, True):
                codec = codec_of(message.key, version, rows=rows)
                codec.parse(memoryview(frame), -1)
                peak = peak_of(lambda codec=codec, frame=frame: codec.parse(memoryview(frame), -1))
                name = ".".join(field.name for field in path)
                assert peak <= MOST_TIMES * len(frame) + 1024, (version, name, rows)
                most = 4 * len(frame) + MOST_BYTES_PER_ELEMENT * counted(body) + 1024
                assert peak <= most, (version, name, rows)


def test_a_count_that_the_bytes_cannot_hold_is_refused_before_anything_is_made() -> None:
    """An Offset commit's partition takes 15 bytes at least, of which none is there."""
    body = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=[])])
    frame = join(encode_request(8, 9, 7, "x", body))[4:]
    at = frame.index(b"\2t\1") + 2
    broken = frame[:at] + unsigned_varint(20_001) + bytes(60_000)
    codec = codec_of(8, 9)
    for buffer in (broken, memoryview(broken)):
        with pytest.raises(ProtocolViolation):
            codec.parse(buffer, 1)
        assert peak_of(lambda buffer=buffer: outcome(codec.parse, buffer, 1)) < 20_000


def head(api_key: int, version: int) -> bytes:
    flexible = version >= {3: 9, 8: 8, 49: 1}[api_key]
    return struct.pack(">hhih", api_key, version, 7, -1) + b"\0" * flexible


def test_a_hundred_megabytes_of_empty_names() -> None:
    count = 50 * MEGABYTE
    frame = head(3, 1) + count.to_bytes(4, "big") + bytes(2 * count)
    assert peak_of(lambda: refusal(frame)) < MEGABYTE


def a_hundred_megabytes_of_short_arrays() -> None:
    """No single array is long: the account is of the whole frame. Prints the bytes taken for it."""
    topic = b"\1" + unsigned_varint(10_001) + bytes(8)  # no name, and partitions of ...
    partition = bytes(4 + 8 + 4) + b"\1\0"
    topics = 100 * MEGABYTE // (10_000 * len(partition))
    body = b"\1" + bytes(4) + b"\1\0" + unsigned_varint(topics + 1)
    one = topic[:-8] + partition * 10_000 + b"\0"
    frame = b"".join([head(8, 8), body, *[one] * topics, b"\0"])
    assert len(frame) > 99 * MEGABYTE
    before = most_resident()
    refusal(frame)
    print(most_resident() - before)


@pytest.mark.slow
def test_a_hundred_megabytes_of_short_arrays() -> None:
    """In a process of its own, as tracemalloc takes a minute over a million elements."""
    program = "from tests.wire.test_memory import *; a_hundred_megabytes_of_short_arrays()"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert MEGABYTE < int(run.stdout) < MOST_BYTES_PER_ELEMENT * 1_000_000


def most_resident() -> int:
    """The bytes of this process's own peak: `ru_maxrss` begins with that of whoever started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


def refusal(frame: bytes, most: int = 1_000_000) -> None:
    with pytest.raises(ProtocolViolation, match=f"more than {most:,} array elements"):
        decode_request(frame)


@pytest.mark.slow
@pytest.mark.parametrize("count", [52_432, 52_433])
def test_the_densest_request(count: int) -> None:
    """Entries of three bytes, each of which becomes an object."""
    entries = unsigned_varint(count + 1) + bytes([1, 1, 0]) * count
    frame = head(49, 1) + entries + bytes(2)
    most = 32_768 + len(frame) // 8
    if count > most:
        refusal(frame, most)
        return
    taken = peak_of(lambda: decode_request(frame))
    assert 20 * len(frame) < taken < 28 * len(frame) + 32_768 * MOST_BYTES_PER_ELEMENT


@pytest.mark.slow
def test_tagged_fields_are_counted_too() -> None:
    tags = unsigned_varint(100) + b"".join(unsigned_varint(100 + i) + b"\0" for i in range(100))
    topic = bytes(16) + b"\0" + tags
    topics = 10_000
    frame = head(3, 12) + unsigned_varint(topics + 1) + topic * topics + b"\1\0\0"
    refusal(frame, 32_768 + len(frame) // 8)


@pytest.mark.slow
def test_large_requests_of_honest_clients() -> None:
    """And that the parser for large frames says what the other one does."""
    topics = [MetadataRequestTopic(UUID(int=i), f"topic-{i}") for i in range(100_000)]
    frame = join(encode_request(3, 12, 7, "x", MetadataRequest(topics)))[4:]
    assert decode_request(frame).body == MetadataRequest(topics)
    partitions = [OffsetCommitRequestPartition(i, i * 1000, 3, "") for i in range(100_000)]
    commit = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=partitions)])
    frame = join(encode_request(8, 9, 7, "x", commit))[4:]
    assert len(frame) > MAX_ELEMENTS
    assert decode_request(frame).body == commit
    assert decode_request(memoryview(frame)).body == commit
    frame = frame[:-1] + b"\1\7\0"  # an unknown tag
    assert decode_request(frame).body.topics == commit.topics
