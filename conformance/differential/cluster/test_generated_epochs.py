"""Stories about leader epochs that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.epoch_stories import STORIES, Epochs, Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

# Three nodes take their time.
REQUESTS = 300
_numbers = itertools.count(1)


def test_stories(
    cluster: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    def told(story: Sequence[Step]) -> None:
        epochs = Epochs(cluster, unique(f"epochs-{next(_numbers)}"))
        epochs.open()
        epochs.tell(story)

    tell_all(cluster, told, STORIES, seeded, limits_of(pytestconfig, REQUESTS))
