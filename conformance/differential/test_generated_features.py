"""Stories in which features are finalized at other levels that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.generated_requests.feature_stories import STORIES, Features, Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.test_share_states import make_share_states
from conformance.harness.broker import Broker

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

_numbers = itertools.count(1)


@pytest.fixture
def changing(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Pair]:
    with both(pytestconfig, tmp_path_factory.mktemp("features"), _living) as pair:
        make_share_states(pair)
        yield pair


def test_stories(changing: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    def told(story: Sequence[Step]) -> None:
        features = Features(changing, f"features-{next(_numbers)}")
        features.open()
        features.tell(story)

    tell_all(changing, told, STORIES, seeded, limits_of(pytestconfig))
