"""Entries of the ring, decoded: topics, errors, messages, and the places of mistakes."""

from __future__ import annotations

import resource
from typing import Any
from uuid import UUID

from kafkalite.control.clock import ClusterClock
from kafkalite.control.spy.cluster_times import ClusterTimes
from kafkalite.control.spy.decoded import Decoded, Scratch, header_of, summarize, view_of, whole
from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalite.wire.record_batch import Record, build_batch

TOPIC_ID = UUID(int=9)


def names(topic_id: UUID) -> str | None:
    return "orders" if topic_id == TOPIC_ID else None


TIMES = ClusterTimes()
TIMES.note(ClusterClock())


def kept(chunks: list[Any], most: int = 1 << 20) -> Entry:
    """An entry for a request, without the four bytes of its size."""
    frame = b"".join(map(bytes, chunks))[4:]
    return Ring().add(("10.0.0.1", 5), frame[:most], len(frame))


def produced(value: bytes = b"v", *topics: str) -> list[Any]:
    records = build_batch([Record(timestamp=1, value=value)])
    partitions = [PartitionProduceData(index=2, records=records)]
    named = [TopicProduceData(name=name, partition_data=partitions) for name in topics or ("t",)]
    return encode_request(ApiKey.PRODUCE, 9, 77, "app", ProduceRequest(acks=-1, topic_data=named))


def answered(entry: Entry, body: object, version: int = 9) -> None:
    chunks = tuple(bytes(each) for each in encode_response(ApiKey.PRODUCE, version, 77, body))
    Ring().ended(entry, "answered", chunks)


def test_bytes_that_were_not_kept_take_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frame = whole((b"ab", 1 << 29, b"c", 1 << 29))
    assert len(frame) == (1 << 30) + 3
    assert bytes(frame[:4]) == b"ab\0\0"
    assert bytes(frame[(1 << 29) + 1 : (1 << 29) + 4]) == b"\0c\0"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # in KiB
    assert bytes(whole((b"ab", b"c"))) == b"abc"
    assert bytes(whole(())) == b""


def test_memory_that_is_used_again_has_nothing_of_the_frame_before() -> None:
    scratch = Scratch()
    longest = 16 << 20
    for parts in ((b"a" * 4096, 10_000), (b"b", 4095), (b"c" * 20, 0), (b"d", longest - 1)):
        assert bytes(scratch.whole(parts)) == bytes(whole(parts))
    first = scratch.whole((b"a", 1))
    # A frame that is too large, or has other parts, leaves the memory alone.
    assert bytes(scratch.whole((b"e", longest))[:2]) == b"e\0"
    assert bytes(scratch.whole((b"f", 1, b"g"))) == b"f\0g"
    assert bytes(scratch.whole((b"h",))) == b"h"
    assert bytes(first) == b"a\0"


def test_a_request_and_its_answer() -> None:
    entry = kept(produced())
    refused = PartitionProduceResponse(index=2, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    topic = TopicProduceResponse(name="t", partition_responses=[refused])
    answered(entry, ProduceResponse(responses=[topic]))
    view = view_of(entry, names, TIMES, bodies=True)
    assert (view.api, view.version, view.correlation_id) == ("Produce", 9, 77)
    assert (view.client_id, view.connection) == ("app", "10.0.0.1:5")
    assert (view.topics, view.error) == (["t"], "NOT_LEADER_OR_FOLLOWER")
    assert view.request is not None
    assert view.answer is not None
    assert view.request["topic_data"][0]["partition_data"][0]["records"][0]["crc_valid"]
    assert view.answer["responses"][0]["partition_responses"][0]["error_code"] == 6
    assert view.undecodable is None
    without = view_of(entry, names, TIMES, bodies=False)
    assert (without.request, without.answer, without.error) == (None, None, view.error)


def test_every_error_is_told_once() -> None:
    entry = kept(produced())
    codes = [0, 6, 10, 6, 999]
    refused = [PartitionProduceResponse(index=code, error_code=code) for code in codes]
    topic = TopicProduceResponse(name="t", partition_responses=refused)
    answered(entry, ProduceResponse(responses=[topic]))
    view = view_of(entry, names, TIMES, bodies=False)
    assert view.errors == ["NOT_LEADER_OR_FOLLOWER", "MESSAGE_TOO_LARGE", "999"]
    assert view.error == view.errors[0]


def test_a_topic_is_named_by_its_id_if_there_is_one() -> None:
    records = build_batch([Record(value=b"v")])
    partitions = [PartitionProduceData(index=0, records=records)]
    topics = [
        TopicProduceData(topic_id=TOPIC_ID, partition_data=partitions),
        TopicProduceData(topic_id=UUID(int=1), partition_data=partitions),
    ]
    entry = kept(encode_request(ApiKey.PRODUCE, 13, 1, None, ProduceRequest(topic_data=topics)))
    assert view_of(entry, names, TIMES, bodies=False).topics == ["orders", str(UUID(int=1))]


def test_a_frame_that_does_not_parse_says_where() -> None:
    entry = kept(produced())
    entry.frame = entry.frame[:30]
    entry.request_bytes = 30
    view = view_of(entry, names, TIMES, bodies=True)
    assert view.api == "Produce"
    assert view.request is None
    assert view.undecodable is not None
    assert "ProduceRequest" in view.undecodable
    assert "byte" in view.undecodable


def test_a_frame_without_a_header_and_an_unknown_api() -> None:
    entry = Ring().add(("h", 1), b"\0\0", 2)
    assert header_of(entry).api == ""
    assert "byte" in str(view_of(entry, names, TIMES, bodies=True).undecodable)
    unknown = Ring().add(("h", 1), bytes.fromhex("7000 0003 00000001 ffff"), 10)
    assert header_of(unknown).api == str(0x7000)
    assert "no version 3" in str(view_of(unknown, names, TIMES, bodies=True).undecodable)


def test_a_large_produce_is_shown_but_for_its_records() -> None:
    entry = kept(produced(bytes(range(256)) * 40), most=4096)
    view = view_of(entry, names, TIMES, bodies=True)
    assert view.truncated
    assert view.topics == ["t"]
    assert view.request is not None
    (partition,) = view.request["topic_data"][0]["partition_data"]
    assert partition["index"] == 2
    (batch,) = partition["records"]
    assert batch["record_count"] == 1
    assert "not all of it was kept" in batch["problem"]
    assert "records" not in batch


def test_topics_behind_the_end_of_what_was_kept_are_not_made_up() -> None:
    entry = kept(produced(bytes(10_000), "a", "b", "c"), most=4096)
    view = view_of(entry, names, TIMES, bodies=True)
    assert view.topics in (["a"], [])
    assert view.request is None or len(view.request["topic_data"]) == 1


def test_another_request_that_is_not_whole_is_not_guessed_at() -> None:
    wanted = MetadataRequest.__dataclass_fields__  # its declared topics are strings or structs
    assert "topics" in wanted
    whole = encode_request(ApiKey.METADATA, 12, 1, "app", MetadataRequest(topics=None))
    entry = kept(whole, most=len(b"".join(map(bytes, whole))) - 6)
    view = view_of(entry, names, TIMES, bodies=True)
    assert view.request is None
    assert "not all of it was kept" in str(view.undecodable)


def test_an_answer_that_does_not_parse_is_told() -> None:
    entry = kept(produced())
    Ring().ended(entry, "answered", (b"\0\0\0\5\0\0\0\1\x07",))
    view = view_of(entry, names, TIMES, bodies=True)
    assert view.request is not None
    assert view.answer is None
    assert str(view.undecodable).startswith("the answer: ")


def test_topics_and_errors_are_found_out_once() -> None:
    entry = kept(produced())
    assert isinstance(summarize(entry, names), Decoded)
    assert entry.topics is None  # it waits: what will the answer be?
    answered(entry, ProduceResponse())
    assert isinstance(summarize(entry, names), Decoded)
    assert entry.topics == ["t"]
    assert summarize(entry, names) is None
