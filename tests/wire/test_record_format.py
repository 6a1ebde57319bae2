"""One record inside a batch: known bytes, varints, and everything that does not add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch
from kafkalite.wire.record_format import (
    MIN_RECORD_BYTES,
    Pair,
    WrittenPairs,
    read_record,
    read_varint,
    write_record,
    write_varint,
)

# Worked out by hand from the format's description: length 11 as zigzag, attributes, timestamp delta
# 3, offset delta 1, key 1 'k', value -1, one header of 'h' and 'v'.
BY_HAND = bytes([22, 0, 6, 2, 2, 0x6B, 1, 2, 2, 0x68, 2, 0x76])


def written(
    key: bytes | None = None,
    value: bytes | None = None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> bytes:
    output = bytearray()
    write_record(output, 3, 1, key, value, headers)
    return bytes(output)


def test_a_record_of_known_bytes() -> None:
    assert written(b"k", None, (("h", b"v"),)) == BY_HAND
    assert read_record(b"before" + BY_HAND + b"after", 6) == (
        3, 1, b"k", None, (("h", b"v"),), 6 + len(BY_HAND)
    )  # fmt: skip


def test_the_shortest_record() -> None:
    assert len(written()) == MIN_RECORD_BYTES
    assert read_record(written(), 0) == (3, 1, None, None, (), MIN_RECORD_BYTES)


@given(
    st.none() | st.binary(max_size=300),
    st.none() | st.binary(max_size=300),
    st.lists(st.tuples(st.text(), st.none() | st.binary())).map(tuple),
)
def test_there_and_back(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    data = written(key, value, headers)
    assert read_record(data, 0) == (3, 1, key, value, headers, len(data))


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_varints(value: int) -> None:
    output = bytearray()
    write_varint(output, value)
    assert len(output) <= 10
    assert read_varint(bytes(output), 0) == (value, len(output))


def test_a_varint_that_never_ends_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        read_varint(b"\xff" * 11, 0)
    assert caught.value.code == ErrorCode.INVALID_RECORD


WRONG = {
    "a negative length": (bytes([1, 0, 0, 0, 1, 1, 0]), "Invalid record size"),
    "a length beyond the data": (bytes([24]) + BY_HAND[1:], "Invalid record size"),
    "a length that is too short": (bytes([20]) + BY_HAND[1:], "left"),
    "bytes after the last header": (bytes([24]) + BY_HAND[1:] + b"\0", "expected to read 12 bytes"),
    "a key beyond the record": (bytes([22, 0, 6, 2, 60]) + BY_HAND[5:], "30 bytes of key"),
    "a negative count of headers": (bytes([12, 0, 0, 0, 1, 1, 1]), "record headers -1"),
    "more headers than bytes": (bytes([12, 0, 0, 0, 1, 1, 40]), "record headers 20"),
    "a header without a key": (bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]), "header key size -1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_record_that_does_not_add_up_is_invalid(case: str) -> None:
    data, reason = WRONG[case]
    with pytest.raises(KafkaError, match=reason) as caught:
        read_record(data, 0)
    assert caught.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("length", range(1, MIN_RECORD_BYTES))
def test_data_that_ends_too_soon(length: int) -> None:
    """The caller tells a batch that is too short from a record that is wrong."""
    with pytest.raises((IndexError, KafkaError)):
        read_record(written()[:length], 0)
    with pytest.raises(IndexError):
        read_varint(b"\x80" * length, 0)


def test_a_header_key_that_is_no_utf_8_is_read_as_kafka_does() -> None:
    data = BY_HAND.replace(b"h", b"\xff")
    assert read_record(data, 0)[4] == (("\ufffd", b"v"),)


TIMESTAMP = 1_700_000_000_000


def check_pairs(pairs: list[Pair]) -> None:
    batch = build_batch([Record(timestamp=TIMESTAMP, key=key, value=value) for key, value in pairs])
    made = WrittenPairs(pairs)
    assert made.data() == batch[HEADER_BYTES:]
    assert (made.count, made.size_bytes) == (len(pairs), len(batch) - HEADER_BYTES)


@given(st.lists(st.tuples(st.binary(max_size=9000), st.none() | st.binary(max_size=9000))))
def test_pairs_are_records_of_their_batch_s_timestamp(pairs: list[Pair]) -> None:
    check_pairs(pairs)


@pytest.mark.parametrize("size", [0, 63, 64, 255, 256, 8191, 8192, 1_048_575, 1_048_576])
def test_sizes_around_those_of_a_number_s_bytes(size: int) -> None:
    check_pairs([(b"k" * size, b"v" * size), (b"", None)])


def test_offsets_of_one_two_and_three_bytes() -> None:
    check_pairs([(b"k", b"v")] * 8300)
