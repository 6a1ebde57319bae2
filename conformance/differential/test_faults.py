"""The referee itself: a broker with one fault planted is caught by scripts, by stories and by recordings."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

from conformance.differential import test_fetch, test_metadata, test_produce
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.world import World
from conformance.differential.normalize import OWN
from conformance.differential.recordings.files import read
from conformance.differential.replay import Replay
from conformance.differential.test_generated import STORIES, Enough, options
from conformance.differential.test_recorded import unheard_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression

# What looks after the order of things on its own account hears the truth.
HONEST = (OWN, "own")
MOST_STORIES = 20
_numbers = itertools.count(1)


class FaultySide(Side):
    """The broker under test, with a fault: what `plant` does to every answer of `api`."""

    def __init__(self, side: Side, api: ApiKey, plant: Callable[[Any], None]) -> None:
        super().__init__(side.broker)
        self.api, self.plant = api, plant

    def receive(self, api: ApiKey, version: int, connection: str = "main") -> Any:
        answer = super().receive(api, version, connection)
        if api is self.api and answer is not None and connection not in HONEST:
            self.plant(answer)
        return answer


def later_offset(answer: Any) -> None:
    for topic in answer.responses:
        for partition in topic.partition_responses:
            partition.base_offset += partition.base_offset >= 0


def no_session(answer: Any) -> None:
    answer.session_id = 0


def another_epoch(answer: Any) -> None:
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.leader_epoch += 1


FAULTS: dict[str, tuple[ApiKey, Callable[[Any], None], Callable[[Pair, str], None]]] = {
    "an offset too high": (
        ApiKey.PRODUCE,
        later_offset,
        lambda pair, topic: test_produce.test_a_batch(pair, topic, 9, Compression.NONE),
    ),
    "no fetch session": (
        ApiKey.FETCH,
        no_session,
        lambda pair, topic: test_fetch.test_a_session(pair, topic, 12),
    ),
    "another leader epoch": (
        ApiKey.METADATA,
        another_epoch,
        lambda pair, topic: test_metadata.test_by_id(pair, topic, 12),
    ),
}


@pytest.fixture(params=FAULTS)
def faulty(pair: Pair, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """The two brokers, one of them with the fault; nothing of it is counted."""
    api, plant, _ = FAULTS[request.param]
    side = FaultySide(pair.tested, api, plant)
    yield Pair(pair.reference, side)
    side.close()


def test_by_scripts(faulty: Pair, topic: str, request: pytest.FixtureRequest) -> None:
    _, _, script = FAULTS[request.node.callspec.params["faulty"]]
    with pytest.raises(Difference):
        script(faulty, topic)


def test_by_stories(faulty: Pair) -> None:
    """Stories that anybody could tell come upon it soon."""
    found: list[Difference] = []

    @options(examples=MOST_STORIES)
    @given(STORIES)
    def tell(story: list[Step]) -> None:
        world = World(faulty, f"wf{next(_numbers)}-")
        world.open()
        try:
            world.tell(story)
        except Difference as difference:
            found.append(difference)
            raise Enough from None
        finally:
            world.close()

    with contextlib.suppress(Enough):
        tell()
    assert isinstance(faulty.tested, FaultySide)
    api = faulty.tested.api
    assert found, f"{MOST_STORIES} stories, and nobody noticed"
    assert found[0].where.startswith(api.name)


def test_by_recordings(faulty: Pair) -> None:
    """What Java's clients did is enough to see it."""
    with pytest.raises(Difference):
        Replay(faulty, unheard_of()).tell(read("java"))
