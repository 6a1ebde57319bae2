"""Stories nobody thought of: hypothesis writes them; what differs is made as short as it can be.

Each commit has stories of its own, until there are REQUESTS or SECONDS are over: what fails in one
checkout fails in another. `make differential` tells others every time, for as long as it is told
(`--seconds`).
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.requests import NOT_GENERATED, Step, step, steps
from conformance.differential.generated_requests.shortest import Tell
from conformance.differential.generated_requests.telling import (
    Enough,
    Story,
    options,
    seed_of_commit,
    telling,
)
from conformance.differential.generated_requests.world import World
from conformance.differential.summary import served
from conformance.differential.test_share_states import make_share_states

# The first limit that is reached ends the stories; with `--seconds` only that counts.
REQUESTS = 20_000
SECONDS = 600.0
STORIES = st.lists(steps(), min_size=40, max_size=90).map(Story)
_numbers = itertools.count(1)
Seeded = Callable[[Callable[[], None]], Callable[[], None]]


@pytest.fixture
def tell(pair: Pair) -> Iterator[Tell]:
    """Tell a story in a world of its own. The topic of share states is there, which Apache Kafka
    makes a moment after a request that asks for it."""
    make_share_states(pair)

    def told(story: Sequence[Step]) -> None:
        world = World(pair, f"w{next(_numbers)}-")
        world.open()
        try:
            world.tell(story)
        finally:
            world.close()

    with telling(pair, told) as tell:
        yield tell


@pytest.fixture
def seeded(pytestconfig: pytest.Config) -> Seeded:
    """Gives a test the commit's seed, unless the command line asks for others."""
    if pytestconfig.getoption("--seconds") or pytestconfig.getoption("--hypothesis-seed"):
        return lambda run: run
    return seed(seed_of_commit())


def test_every_api_in_every_version(tell: Tell, pair: Pair, seeded: Seeded) -> None:
    """One long story has them all: a version that is missing here is one that cannot be
    generated."""

    generated = [each for each in served() if each[0] not in NOT_GENERATED]
    each_once = st.tuples(*itertools.starmap(step, generated)).map(Story)

    @seeded
    @options(examples=3)
    @given(each_once)
    def run(story: Story[Step]) -> None:
        tell(story)

    with contextlib.suppress(Enough):
        run()
    # who must wait for other members is not compared before they come
    missing = [each for each in generated if not pair.tally.requests[each]]
    assert not missing


def test_stories(tell: Tell, pair: Pair, seeded: Seeded, pytestconfig: pytest.Config) -> None:
    asked_for: float | None = pytestconfig.getoption("--seconds")
    deadline = time.monotonic() + (asked_for or SECONDS)

    @seeded
    @options(examples=1_000_000)
    @given(STORIES)
    def run(story: Story[Step]) -> None:
        is_enough = not asked_for and sum(pair.tally.requests.values()) >= REQUESTS
        if is_enough or time.monotonic() > deadline:
            raise Enough
        tell(story)

    with contextlib.suppress(Enough):
        run()
    count = sum(pair.tally.requests.values())
    print(f"{count} requests, {pair.tally.fields} fields")
    assert asked_for or count >= REQUESTS
