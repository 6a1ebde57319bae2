"""The way of a heartbeat in every modern group: quick if it is the same as the one before.

    the same as before      the kept answer, unless anything has changed (steady_answers.py)
    changes nothing         an answer that is kept
    of a large group        a thread works out what changes (large_groups.py)
    any other               what the type of group does with it

A refusal becomes an error code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from kafkalite.group_coordinator.callers import Context
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.modern_protocol import ModernProtocol
from kafkalite.group_coordinator.shard import Group
from kafkalite.group_coordinator.shards import Shards
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

    def _takes_long(self, group: Group | None, request: Q) -> bool:
        """True for a heartbeat whose changes a thread is to work out (large_groups.py)."""
        return False

    @abstractmethod
    def _check(self, context: Context, request: Q) -> None:
        """KafkaError for what no group could accept."""

    @abstractmethod
    def _heartbeat(self, context: Context, request: Q) -> A:
        """Take in a member that joins, changes or leaves. Raises KafkaError."""

    @abstractmethod
    def _refused(self, error: KafkaError) -> A:
        """The answer with an error."""
