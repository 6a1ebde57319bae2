"""Stories in which transactional ids are forgotten that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.generated_requests.clock_world import Clocks, Step
from conformance.differential.generated_requests.idle_stories import PROPERTIES, STORIES
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.harness.broker import Broker

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

_numbers = itertools.count(1)


@pytest.fixture
def idling(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Pair]:
    with both(pytestconfig, tmp_path_factory.mktemp("idle"), _living, own=PROPERTIES) as pair:
        yield pair


def test_stories(idling: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    def told(story: Sequence[Step]) -> None:
        clocks = Clocks(idling, f"idle-{next(_numbers)}")
        clocks.open()
        clocks.tell(story)

    tell_all(idling, told, STORIES, seeded, limits_of(pytestconfig))
