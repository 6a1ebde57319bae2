"""Long work in slices: others have their turn, and the garbage collector waits."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest
import trio
import trio.testing

from kafkalite.requests import slices
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import (
    AT_ONCE,
    LongWork,
    Steps,
    WaitingSteps,
    at_once,
    batches,
    briefly_or_in_slices,
    counted,
    cut,
    few_or_in_slices,
    has_many,
    has_many_within,
    in_order,
    in_slices,
    in_slices_of_task,
    is_long,
    let_go,
    mapped_in_steps,
    release,
    release_set,
    sized_batches,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.schema import KeptRow
from tests.kafkalite.server.one_dispatcher import one_dispatcher


class Clock:
    """The time that work takes, in seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(slices, "monotonic", made)
    return made


def counting(steps: int, clock: Clock | None = None, seconds: float = 0.0) -> Steps[int]:
    """Yields so often, after so much work each time; returns how often."""
    for _ in range(steps):
        if clock is not None:
            clock.now += seconds
        yield
    return steps


def test_work_that_is_known_to_be_short_is_done_at_once() -> None:
    assert at_once(counting(3)) == 3


class Turns(trio.abc.Instrument):
    """Counts the turns that the work's task gave to others: it goes on after each."""

    def __init__(self) -> None:
        self.task = trio.lowlevel.current_task()
        self.given = 0
        self.thresholds: set[int] = set()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self.task:
            self.given += 1
            self.thresholds.add(gc.get_threshold()[2])


async def turns_of(steps: Steps[int]) -> tuple[int, Turns]:
    """The result of the steps, and the turns that others had meanwhile."""
    turns = Turns()
    trio.lowlevel.add_instrument(turns)
    try:
        return await in_slices_of_task(steps), turns
    finally:
        trio.lowlevel.remove_instrument(turns)


async def test_short_work_gives_no_turn() -> None:
    result, turns = await turns_of(counting(10))
    assert (result, turns.given) == (10, 0)


async def test_long_work_gives_turns_between_its_slices_and_one_at_the_end(clock: Clock) -> None:
    result, turns = await turns_of(counting(3, clock, 0.004))
    assert (result, turns.given) == (3, 4)


async def test_meanwhile_the_garbage_collector_does_not_go_through_all_objects(
    clock: Clock,
) -> None:
    before = gc.get_threshold()
    _, turns = await turns_of(counting(3, clock, 0.004))
    assert turns.thresholds == {1_000_000}
    assert gc.get_threshold() == before


async def test_the_work_of_a_request_is_done_in_its_task(clock: Clock) -> None:
    moved: list[int] = []
    with one_dispatcher() as asked:
        context: Any = asked.connection().context

        async def move() -> None:
            moved.append(len(moved))

        context.connection.move_to_task = move
        assert await in_slices(counting(3, clock, 0.004), context) == 3
    assert moved == [0]


async def test_brief_work_needs_no_task_and_other_work_goes_on_in_one(clock: Clock) -> None:
    went_on: list[float] = []
    waited: list[float] = []

    def waiting() -> WaitingSteps[int]:
        """Waits for the disk in its second step, which a thread does."""
        yield None
        yield lambda: waited.append(clock.now)
        return 7

    with one_dispatcher() as asked:
        context: Any = asked.connection().context

        async def move() -> None:
            went_on.append(clock.now)

        context.connection.move_to_task = move
        assert await briefly_or_in_slices(counting(300), context) == 300
        assert went_on == []
        before = clock.now
        assert await briefly_or_in_slices(counting(5, clock, 0.0004), context) == 5
        assert went_on == [pytest.approx(before + 0.0012)]
        assert await briefly_or_in_slices(waiting(), context) == 7
    assert len(went_on) == 2
    assert len(waited) == 1


async def test_few_need_a_task_for_the_disk_only(clock: Clock) -> None:
    went_on: list[float] = []
    waited: list[None] = []

    def waiting() -> WaitingSteps[int]:
        yield None
        yield lambda: waited.append(None)
        return 7

    with one_dispatcher() as asked:
        context = asked.connection().context

        async def move() -> None:
            went_on.append(clock.now)

        context.connection.move_to_task = move
        taken = few_or_in_slices(counting(5, clock, 0.0004), context, is_long=False)
        assert await taken == 5
        assert went_on == []
        assert await few_or_in_slices(waiting(), context, is_long=False) == 7
        assert (len(went_on), len(waited)) == (1, 1)
        assert await few_or_in_slices(counting(5), context, is_long=True) == 5
    assert len(went_on) == 2


async def test_brief_work_makes_no_full_collections(clock: Clock) -> None:
    """There may be very many objects by then: of the request, and of what else is asked for."""
    seen: list[int] = []

    def looking() -> Steps[None]:
        seen.append(gc.get_threshold()[2])
        yield

    with one_dispatcher() as asked:
        await briefly_or_in_slices(looking(), asked.connection().context)
    assert seen == [1_000_000]


async def test_work_that_fails_leaves_the_collector_as_it_was() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("broken")

    before = gc.get_threshold()
    with pytest.raises(ValueError, match="broken"):
        await in_slices_of_task(failing())
    assert gc.get_threshold() == before


def test_lists_are_emptied_little_by_little() -> None:
    many, few = list(range(1200)), [1]
    steps = release((many, "not a list", few, None))
    left: list[int] = []
    for _ in steps:
        left.append(len(many) + len(few))
    assert left == [689, 177, 1, 0]


class Thing:
    """Something whose end is seen."""


def test_a_row_is_forgotten_little_by_little() -> None:
    things = [Thing() for _ in range(1200)]
    alive = [weakref.ref(each) for each in things]
    row = ("topic", [("name", things)])
    steps = let_go(row)
    del things, row
    left: list[int] = []
    for _ in steps:
        left.append(sum(each() is not None for each in alive))
    assert left[-1] == 0
    assert len([count for count in left if 0 < count < 1200]) > 0


def test_no_long_list_is_made_to_forget_one() -> None:
    """The collector would go through all of it at once: 10 ms for 600,000 elements."""
    names = ["a", "b"] * 10_000
    gc.collect()
    longest = 0
    for _ in let_go(("topic", names)):
        made = [len(each) for each in gc.get_objects(0) if type(each) is list]
        longest = max(longest, *made)
        assert len(names) == 20_000
    assert 512 < longest <= 4096


def test_lists_that_others_keep_stay_as_they_are() -> None:
    kept = [1]
    list(let_go(("topic", [("name", kept)])))
    assert kept == [1]


def test_rows_that_are_kept_are_not_gone_through() -> None:
    """A Metadata response of all topics: their rows, and the lists in them, stay."""
    topics = [KeptRow((0, f"topic {number}", list(range(20)))) for number in range(300)]
    assert len(list(let_go((0, topics)))) < 10
    assert len(topics) == 300
    assert {len(topic[2]) for topic in topics} == {20}


def test_lists_of_a_few_are_forgotten_with_what_they_are_in() -> None:
    rows = [(number, [1], [1]) for number in range(400)]
    assert len(list(let_go((0, rows)))) < 10


def test_messages_are_forgotten_little_by_little() -> None:
    names = [MetadataRequestTopic(name=str(number)) for number in range(1200)]
    alive = sys.getrefcount(names[0])
    steps = let_go(MetadataRequest(list(names)))
    assert len(list(steps)) >= 1200 // 512
    after = sys.getrefcount(names[0])
    assert after == alive


def test_sets_are_emptied_little_by_little() -> None:
    values = set(range(1200))
    left: list[int] = []
    for _ in release_set(values):
        left.append(len(values))
    assert left == [688, 176, 0]


def test_work_on_many_things_is_cut_into_parts() -> None:
    assert [list(part) for part in cut([])] == [[]]
    parts = list(cut(range(20)))
    assert [each for part in parts for each in part] == list(range(20))
    assert len(parts) > 1
    written = list(batches(iter(range(600))))
    assert [len(each) for each in written] == [256, 256, 88]


def test_names_are_sorted_part_by_part() -> None:
    names = [str(number) for number in range(10_000)]
    steps = in_order(names[::-1])
    next(steps)
    assert at_once(steps) == sorted(names)


def test_what_comes_is_counted_part_by_part() -> None:
    steps = counted(str(number % 300) for number in range(1000))
    next(steps)
    counts = at_once(steps)
    assert list(counts) == [str(number) for number in range(300)]
    assert (counts["99"], counts["100"]) == (4, 3)


def test_results_of_several_steps() -> None:
    assert at_once(mapped_in_steps(counting, [1, 0, 3])) == [1, 0, 3]


def test_many_elements_are_those_of_large_frames() -> None:
    connection: Any = None
    context = RequestContext(1, ApiKey.FETCH, 0, "", "", "", 0.0, connection)
    topics = [("t", list(range(300)))]
    assert not is_long(context, topics)
    context.request_bytes = 1 << 20
    assert is_long(context, topics)
    assert is_long(context, [("t", [1])] * 300)
    assert not is_long(context, [("t", [1] * 100)])
    assert not is_long(context, topics, 1000)
    context.request_bytes += 1
    assert is_long(context, topics, 1000), "its names may be long"


async def test_long_work_that_is_started_is_done_in_its_order(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    long_work, done = LongWork(), list[str]()

    def steps() -> Steps[int]:
        yield
        return 7

    async def first() -> None:
        await trio.sleep(1)
        assert await long_work.in_slices(steps()) == 7
        done.append("first")

    async def second() -> None:
        done.append("second")

    long_work.start(first)
    long_work.start(second)
    assert done == []
    nursery.start_soon(long_work.run)
    await trio.sleep(2)
    assert done == ["first", "second"]


def described(topics: int, partitions: int) -> ConsumerGroupDescribeResponse:
    """A group of one member that has so much."""
    each = TopicPartitions(partitions=list(range(partitions)))
    member = Member(assignment=Assignment(topic_partitions=[each] * topics))
    return ConsumerGroupDescribeResponse(groups=[DescribedGroup(members=[member])])


@pytest.mark.parametrize(
    ("topics", "partitions", "is_long"),
    [(1, 1, False), (200, 1, False), (300, 1, True), (200, 10, True), (1, 300, True)],
)
def test_long_lists_are_found_however_deep(topics: int, partitions: int, is_long: bool) -> None:
    response = described(topics, partitions)
    assert has_many_within(response) == is_long
    assert not has_many(response), "it looks at the uppermost two levels"


def test_parts_of_things_of_any_size() -> None:
    half = slices._WRITTEN_AT_ONCE // 2
    assert list(sized_batches([], len)) == []
    assert list(sized_batches([1, 2 * half, half, half, 1], lambda size: size)) == [
        [1, 2 * half],
        [half, half],
        [1],
    ]
    few = list(sized_batches(range(AT_ONCE + 1), lambda number: 1))
    assert few == [list(range(AT_ONCE)), [AT_ONCE]]
