"""The way of a heartbeat in every modern group: quick if it is the same as the one before.

    the same as before      the kept answer, unless anything has changed (steady_answers.py)
    changes nothing         an answer that is kept
    of a large group        a thread works out what changes (rehearsal.py)
    any other               what the type of group does with it

A refusal becomes an error code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from kafkalite.group_coordinator.callers import Context
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.modern_protocol import ModernProtocol
from kafkalite.group_coordinator.rehearsal import TRIES
from kafkalite.group_coordinator.shard import Group
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.turns import Turns
from kafkalite.log.errors import TakesLong
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.rows import SharedResponse, message_of_row

P = TypeVar("P", bound=ModernProtocol[Any, Any, Any])
Q = TypeVar("Q")
A = TypeVar("A")


class ModernRequests(ABC, Generic[P, Q, A]):
    """Heartbeats of the groups of one type, `kind`; `request` is the class of the messages."""

    def __init__(
        self,
        shards: Shards,
        protocol: P,
        kind: type[ModernGroup[Any, Any]],
        request: type[Q],
    ) -> None:
        self._shards = shards
        self.protocol = protocol
        self._kind = kind
        self._request = request
        self.turns = Turns()
        """Those of heartbeats that take long, by group."""

    def heartbeat(
        self,
        context: Context,
        row: tuple[Any, ...],
        message: Q | None = None,
        *,
        briefly: bool = False,
    ) -> SharedResponse | A:
        """Answer a heartbeat. `message` is the same as the row, if it was made already.

        The row begins with the ids of group and member. `briefly`: raises TakesLong where it would
        take long.
        """
        shard = self._shards.find(row[0], context.node_id)
        group = None if shard is None else shard.groups.get(row[0])
        again: SharedResponse | None
        if isinstance(group, self._kind):
            again = self.protocol.answer_again(group, context, row)
            if again is not None:
                return again
        request: Q = message_of_row(self._request, row) if message is None else message
        try:
            self._check(context, request)
            if isinstance(group, self._kind):
                again = self.protocol.steady(group, context, request, row)
                if again is not None:
                    return again
            if briefly and self._takes_long(group, request):
                raise TakesLong
            return self._heartbeat(context, request)
        except KafkaError as refused:
            return self._refused(refused)

    def heartbeat_in_steps(
        self, context: Context, row: tuple[Any, ...], message: Q | None = None
    ) -> Generator[Callable[[], None], None, SharedResponse | A]:
        """The same for one that takes long. A thread is to call the functions that it yields."""
        request: Q = message_of_row(self._request, row) if message is None else message
        for _ in range(TRIES):
            try:
                return self.heartbeat(context, row, request, briefly=True)
            except TakesLong:
                answer = yield from self._rehearsed(context, request)
            if answer is not None:
                return answer
        return self.heartbeat(context, row, request)

    def _takes_long(self, group: Group | None, request: Q) -> bool:
        """True for a heartbeat whose changes a thread is to work out."""
        return False

    def _rehearsed(
        self, context: Context, request: Q
    ) -> Generator[Callable[[], None], None, A | None]:
        """Have a thread work out what such a heartbeat changes; None if it came to nothing."""
        raise NotImplementedError

    @abstractmethod
    def _check(self, context: Context, request: Q) -> None:
        """KafkaError for what no group could accept."""

    @abstractmethod
    def _heartbeat(self, context: Context, request: Q) -> A:
        """Take in a member that joins, changes or leaves. Raises KafkaError."""

    @abstractmethod
    def _refused(self, error: KafkaError) -> A:
        """The answer with an error."""
