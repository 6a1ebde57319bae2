"""A Produce has one whole v2 batch per partition, or is refused with Kafka's words."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.replica.produced_batches import (
    check_shape,
    fails_the_request,
    is_transactional,
    look_at,
)
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch


def batch(**settings: Any) -> bytes:
    return build_batch([Record(timestamp=1, value=b"v")], **settings)


def transactional(producer_id: int = 5, epoch: int = 2, **settings: Any) -> bytes:
    return batch(
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0,
        is_transactional=True,
        **settings,
    )


def with_byte(data: bytes, position: int, value: int) -> bytes:
    return data[:position] + bytes([value]) + data[position + 1 :]


def with_length(data: bytes, length: int) -> bytes:
    return data[:8] + length.to_bytes(4, signed=True) + data[12:]


MAGIC, LOW_ATTRIBUTES = 16, 22
WHOLE = batch()
OLD = with_byte(WHOLE, MAGIC, 1)
FUTURE = with_byte(WHOLE, MAGIC, 3)
ZSTD = with_byte(WHOLE, LOW_ATTRIBUTES, 4)
NO_CODEC = with_byte(WHOLE, LOW_ATTRIBUTES, 5)


@pytest.mark.parametrize(
    ("records", "version", "code"),
    [
        (None, 9, ErrorCode.INVALID_RECORD),
        (b"", 9, ErrorCode.INVALID_RECORD),
        (WHOLE[:16], 9, ErrorCode.INVALID_RECORD),
        (WHOLE[:-1], 9, ErrorCode.INVALID_RECORD),
        (OLD, 9, ErrorCode.INVALID_RECORD),
        (FUTURE, 9, ErrorCode.CORRUPT_MESSAGE),
        (
            with_length(WHOLE, 13),
            9,
            ErrorCode.CORRUPT_MESSAGE,
        ),
        (
            with_length(WHOLE, -1),
            9,
            ErrorCode.CORRUPT_MESSAGE,
        ),
        (WHOLE + WHOLE, 9, ErrorCode.INVALID_RECORD),
        (ZSTD, 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (ZSTD + ZSTD, 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (ZSTD + ZSTD, 7, ErrorCode.INVALID_RECORD),
        (NO_CODEC, 6, ErrorCode.UNKNOWN_SERVER_ERROR),
        (with_byte(WHOLE, MAGIC, 255), 9, ErrorCode.CORRUPT_MESSAGE),
        (bytes(12), 9, ErrorCode.CORRUPT_MESSAGE),
        (bytes(11), 9, ErrorCode.INVALID_RECORD),
        (with_length(WHOLE, 2**31 - 13), 9, ErrorCode.INVALID_RECORD),
        (with_length(WHOLE, 2**31 - 12), 9, ErrorCode.UNKNOWN_SERVER_ERROR),
        (WHOLE + bytes(12), 9, ErrorCode.CORRUPT_MESSAGE),
        (WHOLE + FUTURE[:17], 9, ErrorCode.CORRUPT_MESSAGE),
        (WHOLE + with_length(WHOLE, 2**31 - 12), 9, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
    ids=[
        "null",
        "nothing",
        "no magic",
        "cut short",
        "magic 1",
        "magic 3",
        "length 13",
        "length -1",
        "two",
        "zstd too early",
        "two of zstd too early",
        "two of zstd",
        "no codec",
        "magic -1",
        "few zeros",
        "fewer zeros",
        "the largest length",
        "length beyond an int32",
        "zeros behind it",
        "magic 3 behind it",
        "length beyond an int32 behind it",
    ],
)
def test_what_is_refused(records: bytes | None, version: int, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_shape(records, version)
    assert (refused.value.code, refused.value.message) == (code, None)


@pytest.mark.parametrize(("records", "version"), [(WHOLE, 3), (ZSTD, 7), (NO_CODEC, 7)])
def test_what_is_taken_as_it_is(records: bytes, version: int) -> None:
    """A codec that there is none of is the log's to refuse, from version 7 on."""
    assert check_shape(records, version) is records


@pytest.mark.parametrize("rest", [b"x", WHOLE[:16], WHOLE[:-1]])
def test_bytes_behind_it_that_are_no_batch_do_no_harm(rest: bytes) -> None:
    assert check_shape(WHOLE + rest, 9) == WHOLE


def test_a_transaction_says_so_in_the_attributes() -> None:
    assert is_transactional(transactional())
    assert not is_transactional(WHOLE)
    assert not is_transactional(transactional()[:60])
    assert is_transactional(transactional(is_control=True)), "the log refuses it, later"


def looked(*records: bytes | None, version: int = 9) -> Any:
    return look_at([("t", None, list(enumerate(records)))], version)


def test_whole_batches_of_no_transaction() -> None:
    assert looked(WHOLE, WHOLE) == (None, True, False, frozenset())


@pytest.mark.parametrize("records", [None, b"", WHOLE[:-1], OLD, WHOLE + WHOLE])
def test_one_that_is_not_whole_is_looked_at_again(records: bytes | None) -> None:
    found = looked(WHOLE, records)
    assert (found.unreadable, found.are_whole) == (None, False)


def test_zstd_is_whole_from_version_7_on() -> None:
    assert looked(ZSTD, version=7).are_whole
    assert not looked(ZSTD, version=6).are_whole


def test_the_producers_of_transactions() -> None:
    found = looked(transactional(5, 2), WHOLE, transactional(5, 2), transactional(6, 0))
    assert found.are_whole
    assert found.producers == {
        (5).to_bytes(8) + (2).to_bytes(2),
        (6).to_bytes(8) + (0).to_bytes(2),
    }


def test_a_batch_without_a_producer_id_has_no_producer() -> None:
    for producer_id in (-1, -2):
        found = looked(transactional(producer_id, 2), transactional(5, 2))
        assert found.has_transactional
        assert found.producers == {(5).to_bytes(8) + (2).to_bytes(2)}
    alone = looked(transactional(-1, 2))
    assert (alone.has_transactional, alone.producers) == (True, set())


def test_an_unreadable_batch_before_any_transaction_is_told() -> None:
    """Kafka looks for a transaction batch by batch, and stops at the first there is."""
    assert looked(FUTURE, transactional()).unreadable.message == "Invalid magic found in record: 3"
    negative = looked(with_byte(WHOLE, MAGIC, 255)).unreadable
    assert negative.message == "Invalid magic found in record: -1"
    assert looked(transactional(), FUTURE).unreadable is None
    assert looked(with_length(WHOLE, 0)[:30]).unreadable is not None


def test_a_batch_cut_short_is_of_no_transaction() -> None:
    for records in (transactional()[:-1], with_byte(transactional(), MAGIC, 1)):
        assert not looked(records).has_transactional
    assert looked(transactional() + WHOLE).has_transactional


@pytest.mark.parametrize(
    ("records", "version", "fails"),
    [
        (WHOLE, 3, False),
        (WHOLE + WHOLE, 3, False),
        (NO_CODEC, 6, True),
        (NO_CODEC, 7, False),
        (WHOLE + with_length(WHOLE, 2**31 - 1), 9, True),
    ],
)
def test_what_fails_a_whole_request(records: bytes, version: int, fails: bool) -> None:
    topics: Any = [("t", None, [(0, WHOLE), (1, records)])]
    assert at_once(fails_the_request(topics, version, lambda topic: topic)) is fails
    assert at_once(fails_the_request(topics, version, lambda topic: ("t", topic[1], []))) is False


@given(st.binary(max_size=80), st.integers(0, 13))
def test_garbage_is_refused_in_an_orderly_way(records: bytes, version: int) -> None:
    looked(records, version=version)
    with suppress(KafkaError):
        assert check_shape(records, version) == records[: 12 + int.from_bytes(records[8:12])]
