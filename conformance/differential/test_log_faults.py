"""A broker with one fault planted in its cleaner, or in the ends of transactions, is caught by the
stories about them."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests import (
    clock_world,
    compaction_stories,
    compaction_world,
    worn_stories,
)
from conformance.differential.generated_requests.clock_world import Clocks
from conformance.differential.generated_requests.compaction_world import Compacted
from conformance.differential.generated_requests.telling import Enough, Story, options
from conformance.differential.generated_requests.worn_world import Worn
from conformance.differential.planted_log_faults import CLEANER_FAULTS, END_FAULTS
from conformance.differential.prepared import Ids
from conformance.differential.wait_ready import ONE_NODE, PROPERTIES, make_ready
from conformance.differential.worn_producers import place, prepare
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.kafkalite import Kafkalite

pytestmark = pytest.mark.long

# Asked until one of the answers shows the fault.
MOST_REQUESTS = 4000
# Two for each story, and stories enough for all faults.
PRODUCERS = 1500
_numbers = itertools.count(1)


@contextlib.contextmanager
def reference(directory: Path, own: Mapping[str, str]) -> Iterator[ApacheKafka]:
    broker = ApacheKafka(directory / "reference", PROPERTIES | ONE_NODE | own)
    side = Side(broker)
    make_ready(side)
    side.close()
    yield broker
    broker.kill()


def notices(
    reference: ApacheKafka,
    name: str,
    directory: Path,
    own: Mapping[str, str],
    world: Callable[[Pair], Clocks],
    stories: SearchStrategy[Any],
) -> bool:
    """True if the stories come upon the fault."""
    program = ("-m", "conformance.differential.planted_log_faults", name)
    broker = Kafkalite(directory, PROPERTIES | ONE_NODE | own, program=program)
    pair = Pair(Side(reference), Side(broker))
    make_ready(pair.tested)
    found: list[Difference] = []

    @options(examples=1_000_000)
    @given(stories.map(Story))
    def tell(story: Story[Any]) -> None:
        if sum(pair.tally.requests.values()) > MOST_REQUESTS:
            raise Enough
        told = world(pair)
        try:
            told.open()
            told.tell(story)
        except Difference as difference:
            found.append(difference)
            raise Enough from None

    with contextlib.suppress(Enough):
        tell()
    for side in pair.sides:
        side.close()
    broker.kill()
    return bool(found)


@pytest.fixture(scope="module")
def compacting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with reference(tmp_path_factory.mktemp("compact"), compaction_world.PROPERTIES) as broker:
        yield broker


@pytest.mark.parametrize("name", CLEANER_FAULTS)
def test_by_stories_of_compaction(compacting: ApacheKafka, name: str, tmp_path: Path) -> None:
    def world(pair: Pair) -> Compacted:
        return Compacted(pair, f"compacted-{next(_numbers)}")

    own = compaction_world.PROPERTIES
    assert notices(compacting, name, tmp_path, own, world, compaction_stories.STORIES)


@pytest.fixture(scope="module")
def ending(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ApacheKafka, Path, Ids, Iterator[str]]]:
    """Apache Kafka, the directory that it began with, and the ids in it, each for one story."""
    directory = tmp_path_factory.mktemp("ends")
    ids = prepare(directory / "data", PRODUCERS)
    place(directory / "data", directory, "kafkalite")
    with reference(directory, clock_world.PROPERTIES) as broker:
        yield broker, directory / "data", ids, iter(ids)


@pytest.mark.parametrize("name", END_FAULTS)
def test_by_stories_of_ends(
    ending: tuple[ApacheKafka, Path, Ids, Iterator[str]],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Transactions of earlier faults are listed, too, and no sign of this one."""
    monkeypatch.setattr(worn_stories.Listed, "tell", lambda self, clocks: None)
    broker, data_dir, ids, left = ending
    shutil.copytree(data_dir, tmp_path / "data")

    def world(pair: Pair) -> Worn:
        return Worn(pair, f"ends-{next(_numbers)}", ids, left)

    assert notices(broker, name, tmp_path, clock_world.PROPERTIES, world, worn_stories.STORIES)
