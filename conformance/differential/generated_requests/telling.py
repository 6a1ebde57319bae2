"""Telling generated stories: until it is enough, and what differs made as short as it can be."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from conformance.differential.accepted import by_chance
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests.shortest import Tell, shortest

S = TypeVar("S")

# The limits for stories of one kind, unless the command line has others.
REQUESTS = 400
SECONDS = 300.0
# A choice that goes one way as often as the other differs each time in one story of 256.
_MORE_TELLINGS = 8


@dataclass(frozen=True)
class Limits:
    """The first that is reached ends the stories."""

    requests: float
    seconds: float


def limits_of(config: pytest.Config, most_requests: int = REQUESTS) -> Limits:
    """The limits of the command line: `--requests`, `--seconds`, or both; else so many requests."""
    requests, seconds = config.getoption("--requests"), config.getoption("--seconds")
    if requests is seconds is None:
        return Limits(most_requests, SECONDS)
    return Limits(requests or math.inf, seconds or math.inf)


class Enough(KeyboardInterrupt):
    """The time is over: the one way to end a test of hypothesis early that is no failure."""


def options(*, examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


class Story(list[S]):
    """The steps of a story. Their text is put together when one differs: hypothesis asks for that
    of each story, and warns of long ones."""

    def __repr__(self) -> str:
        return f"{len(self)} steps"


def seed_of_commit() -> int:
    """The hash of the checkout's commit; 0 where there is no git."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(done.stdout, 16)


def tell_steps(story: Iterable[S], tell: Callable[[S], None]) -> None:
    """Tell a story step by step. Raises Difference, with what was told so far."""
    told: list[str] = []
    try:
        for step in story:
            told.append(repr(step))
            tell(step)
    except Difference as difference:
        lines = "\n".join(told)
        raise Difference(f"{difference}\nafter\n{lines}", difference.where) from None


@contextlib.contextmanager
def telling(pair: Pair, told: Tell) -> Iterator[Tell]:
    """Tells stories by `told`; what is asked counts as generated.

    The first difference ends it (Enough), and fails the test, made short.
    """
    source = pair.source
    pair.count_for("generated")
    begun = time.monotonic()
    differences: list[Difference] = []

    def told_and_shortened(story: Sequence[Any]) -> None:
        known = list(pair.tally.differences)
        try:
            told(story)
        except Difference as difference:
            entry = by_chance(difference.where)
            if entry is not None and _comes_out_alike(told, story):
                pair.tally.accepted[entry] += 1
                pair.tally.differences[:] = known
                return
            print(sum(pair.tally.requests.values()), "until the first difference")
            differences.append(shortest(told, story, difference))
            raise Enough from None

    yield told_and_shortened
    if differences:
        pytest.fail(str(differences[0]), pytrace=False)
    pair.tally.seconds += time.monotonic() - begun
    pair.count_for(source)


def _comes_out_alike(told: Tell, story: Sequence[Any]) -> bool:
    """True if one of several more tellings shows no difference."""
    for _ in range(_MORE_TELLINGS):
        with contextlib.suppress(Difference):
            told(story)
            return True
    return False


def tell_all(
    pair: Pair,
    told: Tell,
    stories: SearchStrategy[Any],
    seeded: Callable[[Any], Any],
    limits: Limits,
) -> None:
    """Tell stories until one of the limits is reached."""
    deadline = time.monotonic() + limits.seconds
    with telling(pair, told) as tell:
        begun = sum(pair.tally.requests.values())

        @seeded
        @options(examples=1_000_000)
        @given(stories.map(Story))
        def run(story: Story[Any]) -> None:
            count = sum(pair.tally.requests.values()) - begun
            if time.monotonic() > deadline or count >= limits.requests:
                raise Enough
            tell(story)

        with contextlib.suppress(Enough):
            run()
        print(f"{sum(pair.tally.requests.values()) - begun} requests")
