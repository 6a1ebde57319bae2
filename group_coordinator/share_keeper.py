"""The share coordinator as a group coordinator sees it, next door or on other brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol
from uuid import UUID

from kafkalite.wire.errors import KafkaError

Offsets = Mapping[UUID, Mapping[int, int]]
"""Start offsets by topic and partition; -1 is "not decided yet"."""

Partitions = Mapping[UUID, Collection[int]]

Refusals = Mapping[tuple[UUID, int], KafkaError]
"""Errors of the share coordinator, by topic and partition."""


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
    def next_door(self) -> SeenStates | None:
        """The states, if they are kept in this process."""
        ...

    def soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this now if it does not have to wait, else in a task."""
        ...

    async def initialize_states(
        self, group_id: str, state_epoch: int, offsets: Offsets
    ) -> Refusals: ...

    async def delete_states(self, group_id: str, partitions: Partitions) -> Refusals: ...

    async def seen(self, group_id: str, partitions: Partitions) -> SeenStates: ...


class StatesNextDoor(SeenStates, Protocol):
    """A share coordinator in this process. All raise KafkaError."""

    def initialize_state(
        self, group_id: str, topic_id: UUID, partition: int, state_epoch: int, start_offset: int
    ) -> None: ...

    def delete_state(self, group_id: str, topic_id: UUID, partition: int) -> None: ...


class KeeperNextDoor:
    """The keeper over a share coordinator in this process. It never has to wait."""

    def __init__(self, states: StatesNextDoor) -> None:
        self._states = states

    @property
    def next_door(self) -> SeenStates | None:
        return self._states

    def soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        finished(work())

    async def initialize_states(
        self, group_id: str, state_epoch: int, offsets: Offsets
    ) -> Refusals:
        refused: dict[tuple[UUID, int], KafkaError] = {}
        for topic_id, partitions in offsets.items():
            for partition, start_offset in partitions.items():
                try:
                    self._states.initialize_state(
                        group_id, topic_id, partition, state_epoch, start_offset
                    )
                except KafkaError as error:
                    refused[topic_id, partition] = error
        return refused

    async def delete_states(self, group_id: str, partitions: Partitions) -> Refusals:
        refused: dict[tuple[UUID, int], KafkaError] = {}
        for topic_id, indexes in partitions.items():
            for partition in indexes:
                try:
                    self._states.delete_state(group_id, topic_id, partition)
                except KafkaError as error:
                    refused[topic_id, partition] = error
        return refused

    async def seen(self, group_id: str, partitions: Partitions) -> SeenStates:
        return self._states


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never has to wait."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a coroutine that never has to wait did")
