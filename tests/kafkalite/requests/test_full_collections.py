"""Long work leaves no heap of objects that one full collection goes through in one go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalite.requests.full_collections import without_full_collections
from kafkalite.server.collector import short_collections


@pytest.fixture
def generations() -> Iterator[list[int]]:
    """The generations that are gone through meanwhile."""
    seen: list[int] = []

    def see(phase: str, info: dict[str, Any]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.collect()
    gc.callbacks.append(see)
    yield seen
    gc.callbacks.remove(see)
    gc.unfreeze()


def slices(count: int) -> list[list[list[int]]]:
    """So many slices of long work, each of which leaves 3,000 objects."""
    made: list[list[list[int]]] = []
    for _ in range(count):
        with without_full_collections:
            made.append([[] for _ in range(3000)])
            without_full_collections.collect_young()
    return made


def test_what_long_work_leaves_is_gone_through_piece_by_piece(generations: list[int]) -> None:
    gc.disable()
    try:
        with short_collections():
            while 2 not in generations:  # others have left something
                slices(1)
            generations.clear()
            slices(9)
    finally:
        gc.enable()
    assert generations == [1, 1, 1, 2, 1, 1, 1, 2, 1]


def test_all_objects_of_another_process_are_not_gone_through(generations: list[int]) -> None:
    gc.disable()
    try:
        slices(9)
    finally:
        gc.enable()
    assert generations == [1] * 9
