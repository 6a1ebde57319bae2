"""Requests that change a large group: a thread works out what changes (rehearsal.py).

Consumer and share groups may subscribe to very many topics. Streams groups name theirs one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from kafkalite.group_coordinator.callers import Context
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.modern_api import ModernRequests
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH
from kafkalite.group_coordinator.modern_protocol import DecidingProtocol
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.log.errors import TakesLong
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.rows import SharedResponse, message_of_row, rows_of

if TYPE_CHECKING:
    from kafkalite.group_coordinator.turns import Turns

# A group with more topics or partitions is large: each takes 30 microseconds. Not final: tests make
# it smaller, and the compiled build would not look.
LARGE: int = 256
# A group with so many times more members is large, too: each takes 10 microseconds.
MEMBERS_PER_PARTITION: Final = 2
# To convert a member of a classic group takes as long as this many partitions.
PER_MEMBER: Final = 8
# After this many attempts that came to nothing, the change is made on the loop.
TRIES: Final = 3


class Joining(Protocol):
    """A heartbeat of either type."""

    group_id: str
    member_id: str
    member_epoch: int
    subscribed_topic_names: list[str] | None


class Conversion(Protocol):
    """The changes that make one group of another; a thread may decide them."""

    @property
    def is_current(self) -> bool: ...

    def decide(self, changes: Changes[Any]) -> None: ...


P = TypeVar("P", bound=DecidingProtocol[Any, Any, Any, Any])
Q = TypeVar("Q", bound=Joining)
A = TypeVar("A")


def are_many(topics: Iterable[str], view: TopicsView) -> bool:
    """True if these topics have many partitions, or are many."""
    total = 0
    for number, topic in enumerate(topics):
        total += view.partition_count(topic)
        if total > LARGE or number >= LARGE:
            return True
    return False


def has_many_members(group: ModernGroup[Any, Any]) -> bool:
    """True if it takes long to look at all members of a group."""
    return len(group.members) > LARGE * MEMBERS_PER_PARTITION


def tried(
    answered: Callable[[bool], A],
    rehearsed: Callable[[], Generator[Callable[[], None], None, A | None]],
) -> Generator[Callable[[], None], None, A]:
    """The answer to a request of a large group, which a thread works out (`rehearsed`).

    `answered(briefly)` does it on the loop. It raises TakesLong if it is to be brief, but is not.
    """
    for _ in range(TRIES):
        try:
            return answered(True)
        except TakesLong:
            answer = yield from rehearsed()
        if answer is not None:
            return answer
    return answered(False)


class LargeGroupRequests(ModernRequests[P, Q, A]):
    """Heartbeats of groups that may be large."""

    def __init__(
        self,
        shards: Shards,
        services: GroupServices,
        protocol: P,
        kind: type[ModernGroup[Any, Any]],
        request: type[Q],
    ) -> None:
        super().__init__(shards, protocol, kind, request)
        self._services = services
        self._turns: Turns | None = None

    @property
    def turns(self) -> Turns:
        """Heartbeats that take long come one after the other, in each group."""
        if self._turns is None:
            from kafkalite.group_coordinator.turns import Turns  # with the first large group

            self._turns = Turns()
        return self._turns

    def heartbeat_in_steps(
        self, context: Context, row: tuple[Any, ...], message: Q | None = None
    ) -> Generator[Callable[[], None], None, SharedResponse | A]:
        """`heartbeat` for one that takes long. A thread is to call the functions it yields."""
        request: Q = message_of_row(self._request, row) if message is None else message
        return (
            yield from tried(
                lambda briefly: self.heartbeat(context, row, request, briefly=briefly),
                lambda: self._rehearsed(context, request),
            )
        )

    def _refused(self, error: KafkaError) -> A:
        refusal = self.protocol.response(error_code=error.code, error_message=error.message)
        return cast("A", rows_of(refusal))

    def _takes_long(self, group: Any, request: Q) -> bool:
        if request.member_epoch < JOIN_EPOCH:
            return False
        if group is not None and not issubclass(type(group), self._kind):
            return False
        if group is not None and has_many_members(group):
            return True
        subscribed: Iterable[str] = () if group is None else group.subscribed_topics
        return self._are_many(subscribed) or self._are_many(self._topics_in(request))

    def _are_many(self, topics: Iterable[str]) -> bool:
        return are_many(topics, self._services.topics)

    def _topics_in(self, request: Q) -> Iterable[str]:
        """The topics that a member may come to subscribe to by a heartbeat."""
        return request.subscribed_topic_names or ()

    def _rehearsed(
        self, context: Context, request: Q
    ) -> Generator[Callable[[], None], None, A | None]:
        """Have a thread work out what a heartbeat changes; None if the group is another by then."""
        from kafkalite.group_coordinator.rehearsal import Rehearsal  # with the first large group

        group_id = request.group_id
        shard = self._shards.find(group_id, context.node_id)
        found = None if shard is None else shard.groups.get(group_id)
        if shard is None or (found is None and request.member_epoch != JOIN_EPOCH):
            return None
        try:
            conversion = self._conversion(found)
        except KafkaError as refused:
            return self._refused(refused)
        is_new = found is None or conversion is not None
        group: Any = self._kind(group_id) if is_new else found
        self._prepare(request)

        def decide(changes: Changes[Any]) -> Any:
            if conversion is not None:
                conversion.decide(changes)
            return self.protocol.decide(changes, context, request)

        rehearsal = Rehearsal[Any, Any](group, self._services.now_ms(), decide)
        yield rehearsal.run
        is_here = self._shards.find(group_id, context.node_id) is shard
        if not is_here or shard.groups.get(group_id) is not found or not rehearsal.is_current:
            return None
        if conversion is not None and not conversion.is_current:
            return None
        keep = partial(self._keep, shard, group, found)
        try:
            answer: A = self.protocol.carry_out(*rehearsal.taken_over(), keep)
        except KafkaError as refused:
            return self._refused(refused)
        return answer

    def _prepare(self, request: Q) -> None:
        """Do what a thread must not."""

    def _conversion(self, group: Group | None) -> Conversion | None:
        """Begin to make a group of this type of one of another. Raises KafkaError."""
        return None

    def _keep(self, shard: Shard, group: Any, before: Group | None) -> None:
        """The changes are written: the group is there, in the place of the one `before`."""
        shard.groups[group.group_id] = group
