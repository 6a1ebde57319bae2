"""Sets of ACLs that were in no script, and what users may do under them, on both brokers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.security.acl_stories import STORIES, Access, Step, side_ids
from conformance.security.pair import logged_in
from conformance.security.test_access import Brokers, pair, secured, topic_ids

__all__ = ["pair", "secured", "seeded"]  # the fixtures

REQUESTS = 400


def test_stories(secured: Brokers, pair: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    ids = []
    for broker, side in zip(secured, pair.sides, strict=True):
        with logged_in(broker.address(), "root") as root:
            ids.append(side_ids(side, topic_ids(root)))
    waiting = [Side(each) for each in secured]
    access = Access(pair, secured, waiting, ids)

    def told(story: Sequence[Step]) -> None:
        access.tell(story)

    try:
        tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig, REQUESTS))
    finally:
        for side in waiting:
            side.close()
