"""Functions that generated parsers call: varints, tag sections, counts, topic ids."""

import tracemalloc
from uuid import UUID

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.fields import MAX_STRING_BYTES, unsigned_varint
from kafkalite.wire.parse_support import (
    FEW_ELEMENTS,
    ManyElements,
    Odd,
    TooManyElements,
    copied,
    counting,
    counting_few,
    long_string,
    long_varint,
    skip_tags,
    skip_tags_in_slices,
    tag_count,
    unknown_tags,
    uuid_of,
    varint,
)


def test_a_varint_after_its_first_byte() -> None:
    assert long_varint(bytes.fromhex("ff ac02 aa"), 2) == (300, 3)
    assert varint(bytes.fromhex("ff 05 aa"), 1) == (5, 2)
    assert varint(bytes.fromhex("ff ac02 aa"), 1) == (300, 3)


@pytest.mark.parametrize("encoded", ["ffffffff1f", "ffffffffff0f", "808080808000"])
def test_a_varint_of_more_than_32_bits_is_odd(encoded: str) -> None:
    with pytest.raises(Odd):
        varint(bytes.fromhex(encoded), 0)


def test_a_varint_that_is_cut_short() -> None:
    with pytest.raises(IndexError):
        varint(b"\x80\x80", 0)


def test_a_string_has_at_most_an_int16_of_bytes() -> None:
    most = unsigned_varint(MAX_STRING_BYTES + 1)
    assert long_string(most, 1) == (MAX_STRING_BYTES + 1, len(most))
    with pytest.raises(Odd):
        long_string(unsigned_varint(MAX_STRING_BYTES + 2), 1)


TAGS = bytes.fromhex("05 03 616263 07 00")


def test_tags_that_are_not_declared_are_kept_or_passed_over() -> None:
    buffer = b"??" + TAGS + b"!"
    assert unknown_tags(buffer, 2, 2) == (((5, b"abc"), (7, b"")), 9)
    assert skip_tags(buffer, 2, 2, len(buffer)) == 9


def test_a_count_of_tags_that_is_negative_in_javas_int_is_none() -> None:
    assert tag_count(unsigned_varint(2**31 - 1), 1) == (2**31 - 1, 5)
    assert tag_count(unsigned_varint(2**31), 1) == (0, 5)
    assert unknown_tags(unsigned_varint(2**31) + b"rest", 0x80, 1) == ((), 5)
    assert skip_tags(unsigned_varint(2**31) + b"rest", 0x80, 1, 9) == 5


def test_more_than_127_tags_have_a_long_count() -> None:
    count = unsigned_varint(200)
    buffer = count + b"".join(unsigned_varint(tag) + b"\1x" for tag in range(200))
    tags, position = unknown_tags(buffer, count[0], 1)
    assert (len(tags), tags[199], position) == (200, (199, b"x"), len(buffer))
    assert skip_tags(buffer, count[0], 1, len(buffer)) == len(buffer)


@pytest.mark.parametrize("read", [unknown_tags, lambda *given: skip_tags(*given[:3], 99, given[3])])
def test_tags_are_counted_before_they_are_read(read) -> None:
    taken: list[int] = []
    read(TAGS, 2, 0, taken.append)
    assert taken == [2]
    with pytest.raises(TooManyElements):
        read(TAGS, 2, 0, refuse)


def test_many_bytes_of_tags_are_counted() -> None:
    taken: list[int] = []
    buffer = b"\5" + unsigned_varint(5000) + bytes(5000)
    unknown_tags(buffer, 1, 0, taken.append)
    assert taken == [1, 4]


@pytest.mark.parametrize(("count", "steps"), [(0, 0), (16, 0), (17, 1), (127, 1), (128, 2)])
def test_long_tag_sections_are_passed_over_in_slices(count: int, steps: int) -> None:
    buffer = unsigned_varint(count) + b"\7\3abc" * count + b"!"
    taken: list[int] = []
    skipping = skip_tags_in_slices(buffer, buffer[0], 1, len(buffer), taken.append)
    assert sum(1 for _ in skipping) == steps
    skipping = skip_tags_in_slices(buffer, buffer[0], 1, len(buffer), taken.append)
    assert drained(skipping) == len(buffer) - 1
    assert taken == [count, count]
    with pytest.raises(TooManyElements):
        next(skip_tags_in_slices(TAGS, 2, 0, 99, refuse))


def refuse(count: int) -> None:
    raise TooManyElements


@pytest.mark.parametrize(
    ("take", "size", "most", "error"),
    [
        (counting, 0, 32_768, TooManyElements),
        (counting, 80, 32_778, TooManyElements),
        (counting, 1 << 30, 1_000_000, TooManyElements),
        (counting_few, 1 << 30, FEW_ELEMENTS, ManyElements),
    ],
)
def test_the_account_is_of_a_whole_frame(
    take, size: int, most: int, error: type[Exception]
) -> None:
    one, other = take(size), take(size)
    one(most - 1)
    one(1)
    with pytest.raises(error):
        one(1)
    other(most)  # each frame has an account of its own


def test_a_topic_id() -> None:
    encoded = bytes(range(16))
    assert uuid_of(encoded) == UUID(bytes=encoded)


@pytest.mark.parametrize("size", [0, 5, 1 << 20, (1 << 20) + 1, 10_000_000])
def test_bytes_are_copied_in_steps_and_not_twice(size: int) -> None:
    whole = memoryview(bytes(range(256)) * (size // 256 + 1))[:size]
    steps = copied(whole)
    count = 0
    tracemalloc.start()
    try:
        while True:
            try:
                next(steps)
            except StopIteration as end:
                made = end.value
                break
            count += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (type(made), made == whole) == (bytes, True)
    assert count == (0 if size <= 1 << 20 else -(-size // (1 << 20)))
    assert peak < 1.3 * size + 10_000
