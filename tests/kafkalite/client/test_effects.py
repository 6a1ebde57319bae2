"""Effects are judged right: every mistake is found, and none is made up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkalite.client.effects import check_effects


def test_each_kind_of_mistake() -> None:
    effects = check_effects("abcd", "bbdaX", by=str)
    assert not effects
    assert (effects.lost, effects.twice, effects.unasked) == (["c"], ["b"], ["X"])
    assert str(effects) == "lost: c; twice: b; unasked: X"


def test_the_order_is_judged_only_where_it_is_asked_for() -> None:
    assert check_effects("abc", "cab", by=str)
    ordered = check_effects("abc", "cab", by=str, in_order_of=lambda each: 0)
    assert ordered.out_of_order == ["c"]
    assert check_effects("abc", "cab", by=str, in_order_of=lambda each: each == "c")


def test_a_key_is_an_attribute_or_a_field() -> None:
    assert check_effects([{"id": 1}], [{"id": 1}], by="id").exactly_once
    assert check_effects([1 + 2j], [1 - 2j], by="real").exactly_once


def test_what_was_asked_for_twice_is_done_twice() -> None:
    assert check_effects("aa", "aa", by=str)
    assert check_effects("aa", "aaa", by=str).twice == ["a"]


def test_many_keys_are_counted() -> None:
    assert str(check_effects(range(15), [], by=int)).endswith("9 and 5 more")


@given(st.lists(st.integers(0, 20), unique=True), st.randoms())
def test_a_correct_program_is_never_accused(keys: list[int], random: object) -> None:
    assert check_effects(keys, keys, by=int, in_order_of=lambda each: each % 3)
    assert check_effects(keys, reversed(keys), by=int)


@given(st.lists(st.integers(0, 20), unique=True, min_size=1), st.data())
def test_one_mistake_is_the_one_that_is_found(keys: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(keys) - 1))
    assert check_effects(keys, keys[:at] + keys[at + 1 :], by=int).lost == [keys[at]]
    assert check_effects(keys, [*keys, keys[at]], by=int).twice == [keys[at]]
