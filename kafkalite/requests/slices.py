"""Long work in slices: a generator does a little and yields; others have their turn in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from math import inf
from time import monotonic
from typing import Any, Final, TypeVar, cast

import trio

from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import finished, in_disk_thread
from kafkalite.requests.full_collections import without_full_collections
from kafkalite.requests.slice_turn import slice_turn, undivided
from kafkalite.wire.rows import LargeResponse
from kafkalite.wire.schema import FIELDS, KeptRow, Shape, fields_of

A = TypeVar("A")
T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields after each of its steps, of a millisecond at most, and returns its result."""

WaitingSteps = Generator[Callable[[], None] | None, None, T]
"""The same. A function that it yields waits for the disk: a thread calls it before the next
step."""

# Work gives way to others after this time.
SLICE_SECONDS: Final = 0.003
_BRIEF_SECONDS: Final = 0.001
# A request with more elements than this is handled in slices: one takes up to 30 microseconds.
AT_ONCE: Final = 256
# The first append to a partition makes files: a millisecond each.
_IN_ONE_STEP: Final = 8
# The elements of smaller frames are not counted: there cannot be many.
COUNTED_FROM_BYTES: Final = 4096
# A name of 32 KB takes 8 microseconds to look up, where others take one or two.
_LARGE_BYTES: Final = 1 << 20
_RELEASED_AT_ONCE: Final = 512
# Bytes that are encoded, written and taken in with one decision: two milliseconds.
_WRITTEN_AT_ONCE: Final = 1 << 20
_with_lists: Final[dict[type[Any], list[tuple[str, bool, bool]]]] = {}
_have_lists: Final[dict[type[Any], bool]] = {}
# Shorter lists are freed with what they are in.
_FEW: Final = 8
# Levels of lists in lists that may be long: transactions, topics, partitions.
_LEVELS: Final = 2
_COPIED_AT_ONCE: Final = 4096
# Elements of all lists of a response that is built at once.
_MOST_WITHIN: Final = 4 * AT_ONCE


def is_long(
    context: RequestContext, topics: Sequence[tuple[Any, ...]], most: int = AT_ONCE
) -> bool:
    """True if a request is to be handled in slices: if it has more than `most` elements.

    `topics` are rows that end with a list. A large request may have long names: AT_ONCE are many.
    """
    if (size := context.request_bytes) < COUNTED_FROM_BYTES:
        return False
    if size > _LARGE_BYTES:
        most = AT_ONCE
    return len(topics) > most or sum(len(topic[-1]) for topic in topics) > most


def has_many(value: object) -> bool:
    """True if a message or row, or an element of it, has a list that is to be handled in slices."""
    for part in _parts_of(value):
        if isinstance(part, list):
            items = cast("list[object]", part)
            if len(items) > AT_ONCE or any(map(_has_long_list, items)):
                return True
    return False


def _has_long_list(value: object) -> bool:
    parts = _parts_of(value)
    return any(
        isinstance(part, list) and len(cast("list[object]", part)) > AT_ONCE for part in parts
    )


def has_many_within(message: object) -> bool:
    """The same for a message, however deep the lists are, or if they are many together."""
    room = _MOST_WITHIN
    waiting = [message]
    while waiting:
        each = waiting.pop()
        for name, is_list, is_deep in _lists_within(each.__class__):
            part = getattr(each, name)
            if not part:
                continue
            if is_list:
                room -= len(part)
                if len(part) > AT_ONCE or room < 0:
                    return True
                if is_deep:
                    waiting += part
            else:
                waiting.append(part)
    return False


def _lists_within(class_: type[Any]) -> list[tuple[str, bool, bool]]:
    """The fields with lists in them: name, if it is one itself, and if its elements have some."""
    known = _with_lists.get(class_)
    if known is not None:
        return known
    found = _with_lists[class_] = []
    for field in fields_of(class_):
        is_list = field.shape is Shape.ARRAY
        is_deep = isinstance(field.element, type) and bool(_lists_within(field.element))
        if is_list or is_deep:
            found.append((field.name, is_list, is_deep))
    return found


def cut(items: Sequence[A]) -> Iterable[Sequence[A]]:
    """The items in parts, each for one step: at least one, which may be empty."""
    return (items,) if len(items) <= _IN_ONE_STEP else _cut(items)


def _cut(items: Sequence[A]) -> Iterator[Sequence[A]]:
    for start in range(0, len(items), _IN_ONE_STEP):
        yield items[start : start + _IN_ONE_STEP]


def batches(items: Iterable[A]) -> Iterable[list[A]]:
    """The items in parts of AT_ONCE, each to be decided and written in one step."""
    if isinstance(items, list) and len(items) <= AT_ONCE:
        return [items] if items else ()
    return _batches(items)


def _batches(items: Iterable[A]) -> Iterator[list[A]]:
    remaining = iter(items)
    while some := list(islice(remaining, AT_ONCE)):
        yield some


def sized_batches(items: Iterable[A], size_of: Callable[[A], int]) -> Iterator[list[A]]:
    """The same for items of any size: a part has about _WRITTEN_AT_ONCE bytes of them at most."""
    some: list[A] = []
    size = 0
    for item in items:
        some.append(item)
        size += size_of(item)
        if len(some) == AT_ONCE or size >= _WRITTEN_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def at_once(steps: WaitingSteps[T]) -> T:
    """The result of work that is known to be short; it waits for the disk here."""
    while True:
        try:
            wait = next(steps)
        except StopIteration as done:
            value: T = done.value
            return value
        if wait is not None:
            wait()


def begun(steps: Steps[T], most: int = AT_ONCE) -> T | None:
    """The result of work that may turn out to be short; None if it takes more steps than `most`."""
    for _ in range(most):
        try:
            next(steps)
        except StopIteration as done:
            value: T = done.value
            return value
    return None


async def in_slices(steps: WaitingSteps[T], context: RequestContext) -> T:
    """The result of a request's work that may be long, in the task of its connection."""
    await context.connection.move_to_task()
    return await in_slices_of_task(steps)


async def briefly_or_in_slices(steps: WaitingSteps[T], context: RequestContext) -> T:
    """The same for a request that awaits nothing else, so that brief work needs no task."""
    try:
        with without_full_collections:
            wait = _slice(steps, _BRIEF_SECONDS)
    except StopIteration as done:
        value: T = done.value
        return value
    await context.connection.move_to_task()
    if wait is not None:
        await in_disk_thread(wait)
    return await in_slices_of_task(steps)


async def few_or_in_slices(steps: WaitingSteps[T], context: RequestContext, *, is_long: bool) -> T:
    """The same where a count tells what is long: else it is done now, and only the disk needs a
    task."""
    if is_long:
        return await in_slices(steps, context)
    return await finished(steps, context.connection.move_to_task)


async def large_response(steps: WaitingSteps[Any], context: RequestContext) -> LargeResponse:
    """The same for a row that may be so large that it is built in slices, too."""
    return LargeResponse(await briefly_or_in_slices(steps, context))


async def in_slices_of_task(steps: WaitingSteps[T]) -> T:
    """The result of work that may be long. After long work, others have their turn once more.

    Brief work is done at once, unless many begin together. With longer work a task waits for its
    turn (slice_turn.py).
    """
    if undivided.is_on:
        return at_once(steps)
    turn = slice_turn()
    wait = None
    with without_full_collections:
        if turn.may_begin(monotonic(), SLICE_SECONDS):
            try:
                wait = _slice(steps, _BRIEF_SECONDS)
            except StopIteration as done:
                value: T = done.value
                return value
            if wait is None:
                await trio.lowlevel.checkpoint()
        while True:
            if wait is not None:
                await in_disk_thread(wait)
            await turn.take()
            try:
                wait = _slice(steps, SLICE_SECONDS)
                if wait is None:
                    without_full_collections.collect_young()
                    await turn.let_others()
            except StopIteration as done:
                await turn.let_others()
                value = done.value
                return value
            finally:
                turn.give_back()


def _slice(steps: WaitingSteps[T], seconds: float) -> Callable[[], None] | None:
    """Take steps for so long, or until the disk is to be waited for: how to is returned then.

    Raises StopIteration with the result once there is one.
    """
    until = monotonic() + seconds
    wait = next(steps)
    while wait is None and monotonic() < until:
        wait = next(steps)
    return wait


class LongWork:
    """Work that is too long for one turn. A task does what is started, one after the other."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)

    async def run(self) -> None:
        """Do what is started, for ever."""
        async for work in self._receive:
            await work()

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._send.send_nowait(work)

    async def in_slices(self, steps: WaitingSteps[T]) -> T:
        """The result of steps that are taken in the caller's task."""
        return await in_slices_of_task(steps)


def mapped(work: Callable[[A], T], items: Iterable[A]) -> Steps[list[T]]:
    """`work` done with each item, one a step."""
    results: list[T] = []
    for item in items:
        results.append(work(item))
        yield
    return results


def counted(items: Iterable[A]) -> Steps[Counter[A]]:
    """The number of times that each comes, in the order of the first."""
    counts: Counter[A] = Counter()
    for some in batches(items):
        counts.update(some)
        yield
    return counts


def mapped_in_steps(work: Callable[[A], Steps[T]], items: Iterable[A]) -> Steps[list[T]]:
    """`work` done with each item, which may take several steps."""
    results: list[T] = []
    for item in items:
        results.append((yield from work(item)))
        yield
    return results


def in_order(names: Sequence[str]) -> Steps[list[str]]:
    """`sorted` in steps."""
    runs: list[list[str]] = []
    for start in range(0, len(names), _COPIED_AT_ONCE):
        runs.append(sorted(names[start : start + _COPIED_AT_ONCE]))
        yield
    return (yield from mapped(str, merge(*runs)))


def release(values: Iterable[Any]) -> Steps[None]:
    """Empty lists little by little, as to free a million objects takes time, too."""
    for value in values:
        if isinstance(value, list):
            items = cast("list[object]", value)
            while items:
                del items[-_RELEASED_AT_ONCE:]
                yield


def let_go(*values: Any) -> Steps[None]:
    """Forget messages and rows that the caller does not keep, little by little.

    Lists in them that others refer to stay as they are.
    """
    held: list[list[object]] = []
    yield from _hold_lists(values, held)
    del values
    yield from release(held)


def _hold_lists(value: object, held: list[list[object]]) -> Steps[None]:
    """Copy the lists in a message or row, so that their items live on without it."""
    waiting = [(value, _LEVELS)]
    while waiting:
        value, levels = waiting.pop()
        for part in _parts_of(value):
            if isinstance(part, list):
                items = cast("list[object]", part)
                # The collector goes through all of a new list at once.
                for start in range(0, len(items) if len(items) > _FEW else 0, _COPIED_AT_ONCE):
                    held.append(items[start : start + _COPIED_AT_ONCE])
                    yield
                if levels and len(items) <= _RELEASED_AT_ONCE:
                    waiting += [(item, levels - 1) for item in items if _has_lists(item)]
            elif _has_lists(part):
                waiting.append((part, levels))


def _has_lists(value: object) -> bool:
    """True for messages and rows, but for those that are kept, whose lists stay."""
    class_: type[Any] = value.__class__
    known = _have_lists.get(class_)
    if known is None:
        is_row = issubclass(class_, tuple) and class_ is not KeptRow
        known = _have_lists[class_] = is_row or hasattr(value, FIELDS)
    return known


def _parts_of(value: object) -> Iterable[object]:
    if isinstance(value, tuple):
        return cast("tuple[object, ...]", value)
    if not hasattr(value, FIELDS):
        return ()
    return [getattr(value, field.name) for field in fields_of(value.__class__)]


def release_set(values: set[Any]) -> Steps[None]:
    """Empty a set little by little, as to free a million entries takes time, too."""
    while values:
        for _ in range(min(len(values), _RELEASED_AT_ONCE)):
            values.pop()
        yield


def release_dict(values: dict[Any, Any]) -> Steps[None]:
    """The same for a dict."""
    while values:
        for _ in range(min(len(values), _RELEASED_AT_ONCE)):
            values.popitem()
        yield
