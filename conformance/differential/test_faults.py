"""The referee itself: a broker with one fault planted is caught by scripts, by stories and by
recordings."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from conformance.differential import test_fetch, test_metadata, test_produce
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests import (
    queue_stories,
    streams_stories,
    streams_world,
)
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.telling import Enough, options
from conformance.differential.generated_requests.world import World
from conformance.differential.planted_faults import FAULTS, GROUP_FAULTS
from conformance.differential.recordings.files import read
from conformance.differential.replay import Replay
from conformance.differential.test_generated import STORIES
from conformance.differential.test_recorded import unheard_of
from conformance.differential.test_share_states import make_share_states
from conformance.differential.wait_ready import ONE_NODE, PROPERTIES, make_ready
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.kafkalite import Kafkalite
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression

# Tried until one of them notices the fault.
MOST_STORIES = 200
_numbers = itertools.count(1)

SCRIPTS: dict[str, Callable[[Pair, str], None]] = {
    "a later offset": lambda pair, topic: test_produce.test_a_batch(
        pair, topic, 9, Compression.NONE
    ),
    "no fetch session": lambda pair, topic: test_fetch.test_a_session(pair, topic, 12),
    "another leader epoch": lambda pair, topic: test_metadata.test_by_id(pair, topic, 12),
}
# Stories come upon the others later, which is for `make long`.
SOON_SEEN = ("always the first delivery", "crashed members keep theirs", "tasks of others")
_LONG = pytest.mark.long


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Not the one of other tests, which would find there what this module's stories leave."""
    broker = ApacheKafka(tmp_path_factory.mktemp("reference"), PROPERTIES | ONE_NODE)
    side = Side(broker)
    make_ready(side)
    side.close()
    yield broker
    broker.kill()


@contextlib.contextmanager
def with_fault(reference: ApacheKafka, name: str, directory: Path) -> Iterator[Pair]:
    """Apache Kafka, and a kafkalite that has the fault; nothing of it is counted."""
    program = ("-m", "conformance.differential.planted_faults", name)
    broker = Kafkalite(directory, PROPERTIES | ONE_NODE, program=program)
    pair = Pair(Side(reference), Side(broker))
    make_ready(pair.tested)
    yield pair
    for side in pair.sides:
        side.close()
    broker.kill()


@pytest.fixture(scope="module", params=FAULTS)
def _faulty(
    reference: ApacheKafka,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Pair]]:
    name: str = request.param
    with with_fault(reference, name, tmp_path_factory.mktemp("faulty")) as pair:
        yield name, pair


@pytest.fixture
def faulty(_faulty: tuple[str, Pair]) -> Iterator[tuple[str, Pair]]:
    yield _faulty
    for side in _faulty[1].sides:
        side.forget()


def test_by_scripts(faulty: tuple[str, Pair], topic: str) -> None:
    name, pair = faulty
    with pytest.raises(Difference) as seen:
        SCRIPTS[name](pair, topic)
    assert seen.value.where.startswith(FAULTS[name][0].name)


def test_by_stories(faulty: tuple[str, Pair]) -> None:
    """Stories that anybody could tell come upon it soon.

    Other differences do not count: Apache Kafka has what the faults before gave it.
    """
    name, pair = faulty
    found: list[Difference] = []

    @options(examples=MOST_STORIES)
    @given(STORIES)
    def tell(story: list[Step]) -> None:
        world = World(pair, f"wf{next(_numbers)}-")
        world.open()
        try:
            world.tell(story)
        except Difference as difference:
            if difference.where.startswith(FAULTS[name][0].name):
                found.append(difference)
                raise Enough from None
        finally:
            world.close()

    with contextlib.suppress(Enough):
        tell()
    assert found, f"{MOST_STORIES} stories, and nobody noticed"


def test_by_recordings(faulty: tuple[str, Pair]) -> None:
    """Recordings of Java's clients are enough to see it."""
    with pytest.raises(Difference):
        Replay(faulty[1], unheard_of()).tell(read("java"))


def stories_about(api: ApiKey) -> tuple[Callable[[Pair, str], Any], Any]:
    """The world and the stories in which a fault shows."""
    if api.name.startswith("STREAMS"):
        return streams_world.Streams, streams_stories.STORIES
    return queue_stories.Queue, queue_stories.STORIES


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SOON_SEEN else _LONG) for name in GROUP_FAULTS],
)
def test_groups_by_stories(
    reference: ApacheKafka, name: str, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    api, _ = GROUP_FAULTS[name]
    world, stories = stories_about(api)
    found: list[Difference] = []
    with with_fault(reference, name, tmp_path / "faulty") as pair:
        make_share_states(pair)

        @options(examples=MOST_STORIES)
        @given(stories)
        def tell(story: list[Any]) -> None:
            told = world(pair, unique("told"))
            told.open()
            try:
                told.tell(story)
            except Difference as difference:
                found.append(difference)
                raise Enough from None

        with contextlib.suppress(Enough):
            tell()
    assert found, f"{MOST_STORIES} stories, and nobody noticed"
    assert api.name.partition("_")[0] in found[0].where
