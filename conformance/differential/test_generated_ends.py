"""Stories about the ends of transactions that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.differential.conftest import both
from conformance.differential.generated_requests.clock_world import PROPERTIES, Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.generated_requests.worn_stories import STORIES
from conformance.differential.generated_requests.worn_world import Worn
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.worn_producers import place, prepare
from conformance.harness.broker import Broker

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

# Two for each story.
PRODUCERS = 800
_numbers = itertools.count(1)


@pytest.fixture
def living(_living: list[Broker]) -> list[Broker]:
    return _living


def test_stories(
    tmp_path: Path, seeded: Seeded, pytestconfig: pytest.Config, living: list[Broker]
) -> None:
    ids = prepare(tmp_path / "data", PRODUCERS)
    place(tmp_path / "data", tmp_path, pytestconfig.getoption("--broker"))
    left = iter(ids)
    with both(pytestconfig, tmp_path, living, own=PROPERTIES) as pair:

        def told(story: Sequence[Step]) -> None:
            worn = Worn(pair, f"ends-{next(_numbers)}", ids, left)
            worn.open()
            worn.tell(story)

        tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
