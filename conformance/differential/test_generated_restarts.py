"""Stories in the middle of which both brokers are restarted: what they know then, they have read
from their logs.

Several stories share a restart. Requests that wait, sessions, and what members of queues hold end
with the connections before it. Not after `kill -9`: Apache Kafka does not start again with some of
the configs that topics have here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.generated_requests import several_queue_stories, streams_stories
from conformance.differential.generated_requests.requests import Step, steps
from conformance.differential.generated_requests.several_queue_stories import See
from conformance.differential.generated_requests.several_queues import GROUPS, Queues
from conformance.differential.generated_requests.streams_stories import Describe
from conformance.differential.generated_requests.streams_world import Streams
from conformance.differential.generated_requests.telling import Story, options, tell_steps
from conformance.differential.generated_requests.world import QUIET_SECONDS, World
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.test_share_states import make_share_states
from conformance.differential.wait_ready import make_ready
from conformance.harness.broker import Broker

__all__ = ["seeded"]  # the fixture
pytestmark = pytest.mark.long

# A lock that ended while one of them was restarted would be known to the other one only: what a
# member has of partitions that it forgot stays locked when its session ends.
LOCK_MS = "3600000"
# So many stories for each restart.
TOGETHER = 8
RESTARTS = 2


@pytest.fixture
def living(
    pytestconfig: pytest.Config, tmp_path: Path, _living: list[Broker]
) -> Iterator[tuple[Pair, Callable[[], None]]]:
    """Both brokers, and how they are restarted."""
    own = {"group.share.max.record.lock.duration.ms": LOCK_MS}
    with both(pytestconfig, tmp_path, _living, own=own) as pair:
        pair.count_for("generated")
        make_share_states(pair)

        def restart() -> None:
            for side in pair.sides:
                side.close()
                side.broker.stop()
                side.broker.start()
                make_ready(side)
            make_share_states(pair)

        yield pair, restart


class Kept:
    """A story that goes on later: what it calls the brokers' ids is kept meanwhile."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.names = [self._of(side.names) for side in pair.sides]

    @staticmethod
    def _of(names: Any) -> tuple[dict[Any, str], dict[str, str], str, int]:
        return (
            dict(names.topic_ids),
            dict(names.generated),
            names.prefix,
            names.own_times_after_ms,
        )

    def go_on(self) -> None:
        for side, (topic_ids, generated, prefix, after_ms) in zip(
            self.pair.sides, self.names, strict=True
        ):
            side.forget()
            side.names.topic_ids.update(topic_ids)
            side.names.generated.update(generated)
            side.names.prefix, side.names.own_times_after_ms = prefix, after_ms


def in_halves(story: SearchStrategy[Any], seeded: Seeded) -> list[tuple[Any, Any]]:
    """Stories for all restarts."""
    found: list[tuple[Any, Any]] = []

    @seeded
    @options(examples=TOGETHER * RESTARTS)
    @given(story.map(Story), story.map(Story))
    def gather(first: Any, second: Any) -> None:
        found.append((first, second))

    gather()
    return found


def told_in_halves(
    living: tuple[Pair, Callable[[], None]],
    halves: Sequence[tuple[Any, Any]],
    begin: Callable[[int, Any], Callable[[Any], None]],
) -> None:
    """`begin(number, first)` tells a first half, and returns what tells the second."""
    pair, restart = living
    for start in range(0, len(halves), TOGETHER):
        some = halves[start : start + TOGETHER]
        kept: list[tuple[Kept, Callable[[Any], None], Any]] = []
        for number, (first, second) in enumerate(some, start):
            go_on = begin(number, first)
            kept.append((Kept(pair), go_on, second))
        restart()
        for each, go_on, second in kept:
            each.go_on()
            go_on(second)
    print(sum(pair.tally.requests.values()), "requests")


def test_all_apis(living: tuple[Pair, Callable[[], None]], seeded: Seeded) -> None:
    pair, _ = living

    def begin(number: int, first: Iterable[Step]) -> Callable[[Any], None]:
        world = World(pair, f"w{number}-")
        world.open()
        world.tell(first)
        world.see_who_woke(QUIET_SECONDS)
        world.parked.clear()

        def go_on(second: Iterable[Step]) -> None:
            for memory in world.memories.values():
                memory.sessions.clear()
            world.told.append("both are restarted")
            world.tell(second)
            world.close()

        return go_on

    told_in_halves(living, in_halves(st.lists(steps(), min_size=20, max_size=45), seeded), begin)


def test_queues(living: tuple[Pair, Callable[[], None]], seeded: Seeded) -> None:
    pair, _ = living

    def begin(number: int, first: Iterable[Any]) -> Callable[[Any], None]:
        queues = Queues(pair, f"queue-{number}", lock_ms=LOCK_MS)
        queues.open()
        tell_steps(first, lambda step: step.tell(queues))
        queues.end(*queues.holders.values())

        def go_on(second: Iterable[Any]) -> None:
            queues.new_starts.clear()
            for each in GROUPS:
                See(each).tell(queues)
                if queues.group(each) not in queues.shaken:
                    queues.open_partitions(queues.group(each))
            queues.tell(second)

        return go_on

    told_in_halves(living, in_halves(several_queue_stories.STORIES, seeded), begin)


def test_streams(living: tuple[Pair, Callable[[], None]], seeded: Seeded) -> None:
    pair, _ = living

    def begin(number: int, first: Iterable[Any]) -> Callable[[Any], None]:
        streams = Streams(pair, f"streams-{number}")
        streams.open()
        tell_steps(first, lambda step: step.tell(streams))

        def go_on(second: Iterable[Any]) -> None:
            Describe().tell(streams)
            streams.tell(second)

        return go_on

    told_in_halves(living, in_halves(streams_stories.STORIES, seeded), begin)
