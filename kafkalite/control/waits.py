"""Waiting in the broker for a condition: woken by what makes it true, and never much later.

A wait watches the partitions it is about, those of the coordinators' topics among them, since
each change of a group, an offset or a transaction is written there. It looks one turn of the
loop after a record was written, as the state follows the record. And it looks every so often
besides: not all that may be waited for is written anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import trio

from kafkalite.broker import Broker
from kafkalite.control.answers import Waited
from kafkalite.control.conditions import Looked, Sight, look_for
from kafkalite.control.faults.holds import Holds
from kafkalite.control.questions import Until
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import at_once, in_slices_of_task
from kafkalite.requests.topic_names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

# The longest that a condition holds without being noticed.
_LOOK_AGAIN_SECONDS: Final = 0.05


class _Waker:
    """Wakes a wait when something that it watches has changed."""

    def __init__(self) -> None:
        self._changed = trio.Event()

    def try_complete(self) -> None:
        self._changed.set()

    async def wait(self) -> None:
        with trio.move_on_after(_LOOK_AGAIN_SECONDS):
            await self._changed.wait()
            # The state follows the record that was written.
            await trio.lowlevel.checkpoint()
        self._changed = trio.Event()


class _Watch:
    """Has a waker told of what changes, in the broker that serves now."""

    def __init__(
        self, until: Until, sight: Sight, holds: Callable[[], Holds], waker: _Waker
    ) -> None:
        self._until, self._sight, self._holds_now, self._waker = until, sight, holds, waker
        self.times = 0
        self.begin()

    def begin(self) -> None:
        """Watch."""
        self.times += 1
        self._watched = list(_watched(self._until, self._sight.broker))
        self._book, self._holds = self._sight.book, self._holds_now()
        for watchers in self._watched:
            watchers.add(self._waker)
        self._book.subscribe(self._waker.try_complete)
        self._holds.subscribe(self._waker.try_complete)

    def end(self) -> None:
        """Watch no more."""
        for watchers in self._watched:
            watchers.discard(self._waker)
        self._book.unsubscribe(self._waker.try_complete)
        self._holds.unsubscribe(self._waker.try_complete)


async def wait_for(
    until: Until,
    timeout_seconds: float,
    sight: Sight,
    holds: Callable[[], Holds],
    begun: set[Callable[[], None]],
) -> Waited:
    """Wait for a condition, but not longer than that. Raises Problem for a condition without
    sense.

    The functions in `begun` are called when the cluster begins anew, before anything is served:
    the wait goes on with what is there then.
    """
    began = trio.current_time()
    look = look_for(until, sight)
    waker = _Waker()
    watch = _Watch(until, sight, holds, waker)

    def goes_on() -> None:
        watch.end()
        watch.begin()
        at_once(look())  # it counts from here
        waker.try_complete()

    async def looked() -> Looked:
        while True:
            times = watch.times
            result = await in_slices_of_task(look())
            if watch.times == times:  # else it has seen what is gone
                return result

    begun.add(goes_on)
    try:
        result = await looked()
        while not result.met and trio.current_time() < began + timeout_seconds:
            with trio.move_on_at(began + timeout_seconds):
                await waker.wait()
            result = await looked()
    finally:
        begun.discard(goes_on)
        watch.end()
    took_ms = round((trio.current_time() - began) * 1000)
    return Waited(result.met, took_ms, result.seen, result.because)


def _watched(until: Until, broker: Broker) -> Iterable[Watchers]:
    topics = {OFFSETS_TOPIC, TRANSACTIONS_TOPIC} | _topics_of(until)
    for name in topics:
        topic = broker.services.topics.get(name)
        if topic is not None:
            for partition in topic.partitions:
                yield partition.watchers


def _topics_of(until: Until) -> set[str]:
    names = {until.records.topic} if until.records is not None else set[str]()
    for each in (*(until.all or ()), *(until.any or ()), *((until.not_,) if until.not_ else ())):
        names |= _topics_of(each)
    return names
