"""Stories about queues that were in no script: members who lock, renew, release, and go."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests import several_queue_stories, several_queues
from conformance.differential.generated_requests.queue_stories import STORIES, Queue, Step
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.test_share_states import make_share_states

__all__ = ["seeded"]  # the fixture

_numbers = itertools.count(1)


def test_stories(
    pair: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    make_share_states(pair)

    def told(story: Sequence[Step]) -> None:
        queue = Queue(pair, unique(f"queue-{next(_numbers)}"))
        queue.open()
        queue.tell(story)

    tell_all(pair, told, STORIES, seeded, limits_of(pytestconfig))


def test_several_queues(
    pair: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    make_share_states(pair)

    def told(story: Sequence[several_queues.Step]) -> None:
        queues = several_queues.Queues(pair, unique(f"queues-{next(_numbers)}"))
        queues.open()
        queues.tell(story)

    tell_all(pair, told, several_queue_stories.STORIES, seeded, limits_of(pytestconfig))
