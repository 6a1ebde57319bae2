"""Keys come in the order in which Java's hash tables have them: printed by Java itself."""

from __future__ import annotations

import pytest

from kafkalite.wire.java_order import in_map_order


@pytest.mark.parametrize(
    "keys",
    [
        ["eager", "stream", "sticky", "range", "roundrobin", "connect", "cooperative-sticky"],
        # More than twelve keys make Java's table grow.
        [f"p{n}" for n in (*range(11), 12, 11, 14, 13, 16, 15, 18, 17, 19)],
    ],
)
def test_the_order_is_that_of_a_java_map(keys: list[str]) -> None:
    assert in_map_order(set(keys)) == keys
    assert in_map_order([*keys, *keys]) == keys


def test_keys_of_one_bucket_keep_their_order() -> None:
    """`Aa` and `BB` have the same hash, 2112, in bucket 0."""
    assert in_map_order(["a", "BB", "Aa"]) == ["BB", "Aa", "a"]
    assert in_map_order(["a", "Aa", "BB"]) == ["Aa", "BB", "a"]
    # The codes of a and q are 97 and 113: one bucket of 16, but two of the 32 for 13 names.
    assert in_map_order(["q", "a"]) == ["q", "a"]
    assert in_map_order(["q", "a", *"bcdefghijkl"])[:2] == ["a", "b"]


@pytest.mark.parametrize(
    "keys",
    [
        ["process-0"],
        ["process-0", "process-37"],
        ["process-0", "process-74", "process-37"],
        ["process-148", "process-74", "process-37", "process-111", "process-0"],
    ],
)
def test_a_java_map_may_be_made_for_a_number_of_keys(keys: list[str]) -> None:
    assert in_map_order(set(keys), len(keys)) == keys
