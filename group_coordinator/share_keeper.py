"""The share coordinator as a group coordinator sees it, in this process or on other brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Generator, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from kafkalite.wire.api_codec import drained
from kafkalite.wire.error_messages import words_of
from kafkalite.wire.errors import ErrorCode, KafkaError

Offsets = Mapping[UUID, Mapping[int, int]]
"""Start offsets by topic and partition; -1 is "not decided yet"."""

Partitions = Mapping[UUID, Collection[int]]

Refusals = Mapping[tuple[UUID, int], KafkaError]
"""Errors of the share coordinator, by topic and partition."""


Work = Callable[[], Coroutine[Any, Any, None]]
T = TypeVar("T")

# More partitions are asked about in slices.
AT_ONCE: Final = 256
# After these, Apache Kafka asks the share coordinator again, five times.
_ASKED_AGAIN: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


def words_of_keeper(verb: str, error: KafkaError) -> str:
    """The words with which a client hears of an error of the share coordinator that was asked to do
    this: those of Apache Kafka's PersisterStateManager."""
    reason = words_of(error)
    if error.code in _ASKED_AGAIN:
        reason = f"Exhausted max retries to complete {verb} state RPC without success."
    return f"Error in {verb} state RPC. {reason}"


class SeenStates(Protocol):
    """The states as they were found. Both raise KafkaError."""

    def describe_state(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int]:
        """Start offset and delivery complete count (-1: there is none), leader epoch."""
        ...

    def latest_offset(self, topic_id: UUID, partition: int) -> int:
        """The offset of the next record of the partition."""
        ...


class ShareStateKeeper(Protocol):
    """Asks share coordinators, which may take a while."""

    @property
    def seen_here(self) -> SeenStates | None:
        """The states, if they are kept in this process."""
        ...

    def soon(self, work: Work, count: int) -> None:
        """Do this, about so many partitions, now if it does not have to wait, else in a task."""
        ...

    async def by_thread(self, work: Callable[[], None]) -> None:
        """Have long work of a task done while others have their turn."""
        ...

    async def in_steps(self, steps: Generator[None, None, T], count: int) -> T:
        """The result of a task's steps, about so many partitions. If they are many, others have
        their turn in between."""
        ...

    async def initialize_states(
        self, group_id: str, state_epoch: int, offsets: Offsets
    ) -> Refusals: ...

    async def delete_states(self, group_id: str, partitions: Partitions) -> Refusals: ...

    async def seen(self, group_id: str, partitions: Partitions) -> SeenStates: ...


class LocalStates(SeenStates, Protocol):
    """A share coordinator in this process. All raise KafkaError."""

    def initialize_state(
        self, group_id: str, topic_id: UUID, partition: int, state_epoch: int, start_offset: int
    ) -> None: ...

    def delete_state(self, group_id: str, topic_id: UUID, partition: int) -> None: ...


class Loading(Protocol):
    """The loading of a share coordinator in this process, after a start or an election."""

    @property
    def is_under_way(self) -> bool:
        """True if there are states that cannot be asked for yet; begins to load what is due."""
        ...

    async def ended(self) -> None:
        """Wait in a task until states can be asked for, but not for ever."""
        ...


class LongWork(Protocol):
    """Runs what is too long to be done at once."""

    def start(self, work: Work) -> None:
        """Do it in a task."""
        ...

    async def in_slices(self, steps: Generator[Callable[[], None] | None, None, T]) -> T:
        """Take steps in the caller's task; others have their turn in between.

        A thread calls the functions that they yield.
        """
        ...


class LocalKeeper:
    """The keeper over a share coordinator in this process.

    It waits for two things only. Many partitions, each of which takes 70 microseconds, are done in
    slices, in a task, by `long_work`. States that are still being loaded are waited for, as those
    on other brokers are. Without `long_work` all is done at once.
    """

    def __init__(
        self,
        states: LocalStates,
        long_work: LongWork | None = None,
        loading: Loading | None = None,
    ) -> None:
        self._states = states
        self._long_work = long_work
        self._loading = loading

    @property
    def seen_here(self) -> SeenStates | None:
        return self._states

    def soon(self, work: Work, count: int) -> None:
        if self._long_work is None or (count <= AT_ONCE and not self._has_to_load):
            finished(work())
        else:
            self._long_work.start(work)

    @property
    def _has_to_load(self) -> bool:
        return self._loading is not None and self._loading.is_under_way

    async def by_thread(self, work: Callable[[], None]) -> None:
        if self._long_work is None:
            work()
        else:
            await self._long_work.in_slices(_one(work))

    async def in_steps(self, steps: Generator[None, None, T], count: int) -> T:
        if count <= AT_ONCE or self._long_work is None:
            return drained(steps)
        return await self._long_work.in_slices(steps)

    async def initialize_states(
        self, group_id: str, state_epoch: int, offsets: Offsets
    ) -> Refusals:
        def initialize(topic_id: UUID, partition: int) -> None:
            self._states.initialize_state(
                group_id, topic_id, partition, state_epoch, offsets[topic_id][partition]
            )

        return await self._ask_each(initialize, offsets)

    async def delete_states(self, group_id: str, partitions: Partitions) -> Refusals:
        return await self._ask_each(partial(self._states.delete_state, group_id), partitions)

    async def _ask_each(self, ask: Callable[[UUID, int], None], partitions: Partitions) -> Refusals:
        if self._loading is not None and self._loading.is_under_way:
            await self._loading.ended()
        return await self.in_steps(_asking(ask, partitions), count_of(partitions))

    async def seen(self, group_id: str, partitions: Partitions) -> SeenStates:
        return self._states


def count_of(partitions: Partitions) -> int:
    """The number of partitions of all topics."""
    return sum(map(len, partitions.values()))


def _one(work: Callable[[], None]) -> Generator[Callable[[], None], None, None]:
    yield work


def _asking(
    ask: Callable[[UUID, int], None], partitions: Partitions
) -> Generator[None, None, Refusals]:
    """Ask about each partition, one a step; the refusals."""
    refused: dict[tuple[UUID, int], KafkaError] = {}
    for topic_id, indexes in partitions.items():
        for partition in indexes:
            try:
                ask(topic_id, partition)
            except KafkaError as error:
                refused[topic_id, partition] = error
            yield
    return refused


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never has to wait."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a coroutine that never has to wait did")
