"""Java's String.hashCode, which decides a group's partition of __consumer_offsets."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator import java_hash as module
from kafkalite.group_coordinator.java_hash import java_hash


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


def test_long_texts_are_not_kept() -> None:
    """The cache has room for as many texts as would fill the memory if they were long."""
    kept = module._kept.cache_info().currsize
    assert java_hash("a" * 32_767) == java_hash("a" * 32_767) > 0
    assert module._kept.cache_info().currsize == kept
