"""Stories about one log that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.clock_world import Step
from conformance.differential.generated_requests.log_stories import STORIES
from conformance.differential.generated_requests.log_world import Logs
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

_numbers = itertools.count(1)


def test_stories(pair: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    def told(story: Sequence[Step]) -> None:
        logs = Logs(pair, f"logs-{next(_numbers)}")
        logs.open()
        logs.tell(story)

    tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
