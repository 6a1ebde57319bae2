"""Judges what a program has made of its inputs: lost, twice, out of order, or made up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

By = Callable[[Any], Hashable] | str
_SHOWN: Final = 10


class Effects(Struct, frozen=True):
    """Keys of inputs whose effects are wrong. `unasked`: an output without an input."""

    lost: list[Hashable]
    twice: list[Hashable]
    out_of_order: list[Hashable]
    unasked: list[Hashable]

    @property
    def exactly_once(self) -> bool:
        """Tells whether each input had its effect once, and in order if that was asked."""
        return not (self.lost or self.twice or self.out_of_order or self.unasked)

    def __bool__(self) -> bool:
        return self.exactly_once

    def __str__(self) -> str:
        found = [
            f"{name.replace('_', ' ')}: {', '.join(map(str, keys[:_SHOWN]))}"
            + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")
            for name, keys in (
                ("lost", self.lost),
                ("twice", self.twice),
                ("out_of_order", self.out_of_order),
                ("unasked", self.unasked),
            )
            if keys
        ]
        return "; ".join(found) or "each once"


def check_effects(
    inputs: Iterable[Any], outputs: Iterable[Any], *, by: By, in_order_of: By | None = None
) -> Effects:
    """Compare inputs with outputs, records for example, by a key that both have.

    `by` is a function, or the name of an attribute ("value"); text and numbers among the inputs
    are keys themselves. With `in_order_of` the outputs of
    each of its values must come in the order of the inputs. To judge transactions read the outputs
    with `committed=True`: what was aborted is lost or unasked then.
    """
    key_of = _function(by)
    asked, made = list(inputs), list(outputs)
    wanted, seen = Counter(map(key_of, asked)), Counter(map(key_of, made))
    return Effects(
        lost=[key for key in wanted if not seen[key]],
        twice=[key for key in seen if seen[key] > wanted[key] > 0],
        out_of_order=[] if in_order_of is None else _misplaced(asked, made, key_of, in_order_of),
        unasked=[key for key in seen if not wanted[key]],
    )


def _function(by: By) -> Callable[[Any], Hashable]:
    return partial(_named, by) if isinstance(by, str) else by


def _named(name: str, value: Any) -> Hashable:
    """A field of a mapping, or an attribute; text and numbers are keys themselves."""
    if isinstance(value, (str, bytes, int, float)):
        return value
    found: Hashable = value[name] if hasattr(value, "keys") else getattr(value, name)
    return found


def _misplaced(
    asked: list[Any], made: list[Any], key_of: Callable[[Any], Hashable], order: By
) -> list[Hashable]:
    """Keys that come before one that was asked for earlier; of repetitions the first counts."""
    places = {key_of(each): number for number, each in reversed(list(enumerate(asked)))}
    group_of = _function(order)
    groups: dict[Hashable, list[Hashable]] = defaultdict(list)
    for each in made:
        key = key_of(each)
        if key in places and key not in groups[group_of(each)]:
            groups[group_of(each)].append(key)
    return [
        later
        for keys in groups.values()
        for later, earlier in pairwise(keys)
        if places[later] > places[earlier]
    ]
