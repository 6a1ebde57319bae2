"""Stories about streams groups that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.streams_stories import STORIES
from conformance.differential.generated_requests.streams_world import Step, Streams
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded

__all__ = ["seeded"]  # the fixture

_numbers = itertools.count(1)


def test_stories(
    pair: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    def told(story: Sequence[Step]) -> None:
        streams = Streams(pair, unique(f"streams-{next(_numbers)}"))
        streams.open()
        streams.tell(story)

    tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
