"""ACLs that change while something is open, in stories that were in no script."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.summary import PAIRS
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.wait_ready import ONE_NODE, PROPERTIES, make_ready
from conformance.security.open_stories import STORIES, Open, UserSide
from conformance.security.pair import SECURITY, Secured, secured_pair

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

Brokers = tuple[Secured, Secured]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    properties = {**PROPERTIES, **ONE_NODE, **SECURITY}
    with secured_pair(tmp_path_factory.mktemp("open"), properties) as pair:
        yield pair


def test_stories(brokers: Brokers, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    pair = Pair(*map(UserSide, brokers))
    pytestconfig.stash.setdefault(PAIRS, []).append(pair)
    for side in pair.sides:
        make_ready(side)

    def told(story: Sequence[Step]) -> None:
        world = Open(pair, f"w{next(_numbers)}o-")
        world.open()
        try:
            world.tell(story)
        finally:
            world.close()

    try:
        tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
    finally:
        for side in pair.sides:
            side.close()
