"""Stories in which offsets and groups expire that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.generated_requests.expiring_stories import (
    PROPERTIES,
    STORIES,
    Expiring,
)
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.harness.broker import Broker

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

_numbers = itertools.count(1)


@pytest.fixture
def expiring(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Pair]:
    with both(pytestconfig, tmp_path_factory.mktemp("expiry"), _living, own=PROPERTIES) as pair:
        yield pair


def test_stories(expiring: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    def told(story: Sequence[Step]) -> None:
        world = Expiring(expiring, f"w{next(_numbers)}e-")
        world.open()
        try:
            world.tell(story)
        finally:
            world.close()

    tell_all(expiring, told, STORIES, seeded, limits_of(pytestconfig))
