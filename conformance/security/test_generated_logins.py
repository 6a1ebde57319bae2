"""Logins by tokens and passwords that come and go, in stories that were in no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.summary import PAIRS
from conformance.differential.test_generated import Seeded, seeded
from conformance.security.login_stories import STORIES, Logins, Step
from conformance.security.pair import Secured, secured_pair

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

Brokers = tuple[Secured, Secured]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with secured_pair(tmp_path_factory.mktemp("logins")) as pair:
        yield pair


def test_stories(brokers: Brokers, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    pair = Pair(*map(Side, brokers))
    pytestconfig.stash.setdefault(PAIRS, []).append(pair)
    waiting = [Side(each) for each in brokers]
    for broker, side in zip(brokers, pair.sides, strict=True):
        side.addresses.append("{}:{}".format(*broker.address()))

    def told(story: Sequence[Step]) -> None:
        Logins(pair, brokers, waiting).tell(story)

    try:
        tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))
    finally:
        for side in (*waiting, *pair.sides):
            side.close()
