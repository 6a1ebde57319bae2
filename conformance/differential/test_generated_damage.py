"""Stories of requests with accidents in their bytes that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.damaged import STORIES, Accident, Damaged
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.test_share_states import make_share_states

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

_numbers = itertools.count(1)


def test_stories(pair: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    make_share_states(pair)

    def told(story: Sequence[Accident]) -> None:
        world = Damaged(pair, f"w{next(_numbers)}d-")
        world.open()
        try:
            world.tell(story)
        finally:
            world.close()

    tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
