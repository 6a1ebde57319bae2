"""Keys come in the order in which Java's hash tables have them: printed by Java itself."""

from __future__ import annotations

import pytest

from kafkalite.wire.java_order import in_map_order, in_set_order, in_timeline_order


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


@pytest.mark.parametrize(
    "numbers",
    [
        [16, 1, 17, 2, 3, 31],
        [0, 16, 32, 48, 33, 12, 13, 15],
        # More than twelve numbers have a larger table.
        [64, 65, 100, 7, 40, 9, 41, 42, 43, 44, 45, 46, 47, 48, 49],
    ],
)
def test_the_order_of_numbers_is_that_of_a_java_set(numbers: list[int]) -> None:
    assert in_set_order(set(numbers)) == numbers


@pytest.mark.parametrize(
    "numbers",
    [
        [0, 2, 1],
        [8, 3, 0, 5, 7, 2, 4, 6, 1],
        [13, 18, 3, 10, 8, 0, 15, 5, 12, 17, 2, 7, 14, 19, 4, 11, 9, 1, 16, 6],
    ],
)
def test_the_order_is_that_of_a_timeline_map(numbers: list[int]) -> None:
    """Printed by Kafka's own class."""
    keys = [f"member-{number}" for number in range(len(numbers))]
    assert in_timeline_order(keys) == [f"member-{number}" for number in numbers]
