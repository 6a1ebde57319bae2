"""Java's String.hashCode, which decides a group's partition of __consumer_offsets."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.java_hash import java_hash, java_map_position


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("Aa", 2112),
        ("BB", 2112),
        # Its hash is the smallest int, which has no absolute value: Kafka takes 0.
        ("polygenelubricants", 0),
        # A negative hash, and a character of two code units (a surrogate pair).
        ("consumer-group", 1738392088),
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_hash_is_that_of_java(text: str, expected: int) -> None:
    assert java_hash(text) == expected


@pytest.mark.parametrize(
    "keys",
    [
        ["eager", "stream", "sticky", "range", "roundrobin", "connect", "cooperative-sticky"],
        # More than twelve keys make Java's table grow.
        [f"p{n}" for n in (*range(11), 12, 11, 14, 13, 16, 15, 18, 17, 19)],
    ],
)
def test_the_order_is_that_of_a_java_map(keys: list[str]) -> None:
    assert sorted(set(keys), key=lambda key: java_map_position(key, len(keys))) == keys


@pytest.mark.parametrize(
    "keys",
    [["process-0"], ["process-0", "process-37"], ["process-0", "process-74", "process-37"]],
)
def test_a_java_map_may_be_made_for_a_number_of_keys(keys: list[str]) -> None:
    count = len(keys)
    assert sorted(set(keys), key=lambda key: java_map_position(key, count, count)) == keys
