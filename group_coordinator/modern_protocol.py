"""The rules that heartbeats and silence follow in all modern groups.

    session      a member that is not heard of for its session timeout is removed
    revocation   so is one that has not given up what it must within its rebalance timeout
    room         a group takes `group.<type>.max.size` members
    target       computed anew when the group epoch is ahead, once in an assignment interval

Whatever a request changes is written as one batch. Source: Kafka's GroupMetadataManager.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from kafkalite.group_coordinator.callers import Caller
from kafkalite.group_coordinator.changes import Change, Changes
from kafkalite.group_coordinator.heartbeat_checks import group_full
from kafkalite.group_coordinator.modern_group import MemberTimers, ModernGroup
from kafkalite.group_coordinator.modern_member import MemberState, ModernMember
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.steady_answers import SteadyAnswer
from kafkalite.wire.rows import SharedResponse, rows_of

M = TypeVar("M", bound=ModernMember)
T = TypeVar("T")
G = TypeVar("G", bound=ModernGroup[Any, Any])
Q_contra = TypeVar("Q_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class ModernProtocol(ABC, Generic[G, M, Q_contra]):
    """The rules, for all groups of one type of a coordinator, and their heartbeats."""

    def __init__(self, kind: type[G], services: GroupServices) -> None:
        self._type = kind.records.group_type
        self._services = services

    def heartbeat_interval_ms(self, group: G) -> int:
        return self._services.overrides.heartbeat_interval_ms(self._type, group.group_id)

    def check_room(self, group: G) -> None:
        """KafkaError(GROUP_MAX_SIZE_REACHED) if there is no place for one more."""
        largest = self._services.config.max_size(self._type)
        if len(group.members) >= largest:
            raise group_full(self._type, largest)

    # Heartbeats that change nothing

    def answer_again(
        self, group: G, caller: Caller, request: tuple[Any, ...]
    ) -> SharedResponse | None:
        """The answer to the same heartbeat as before; None if anything has changed since.

        `request` is a row, whose second field is the member's id.
        """
        known = group.answers.get(request[1])
        if (
            known is None
            or group.is_metadata_stale
            or not known.fits(caller, request, self._services.overrides.of(group.group_id))
        ):
            return None
        self._services.sessions.set(known.session, known.session_seconds)
        return known.response

    @abstractmethod
    def steady(
        self, group: G, caller: Caller, request: Q_contra, row: tuple[Any, ...]
    ) -> SharedResponse | None:
        """The answer to a heartbeat that changes nothing; None to any other."""

    def keep_answer(
        self, group: G, member: M, caller: Caller, request: tuple[Any, ...], response: object
    ) -> SharedResponse:
        """Answer a heartbeat that changes nothing with a message, and keep it as a row."""
        shared = SharedResponse(rows_of(response))
        self.put_off(group, member.member_id)
        group.answers[member.member_id] = SteadyAnswer(
            caller,
            request,
            self._services.overrides.of(group.group_id),
            self.timers_of(group, member.member_id).session,
            self._session_timeout_ms(group, member) / 1000,
            shared,
        )
        return shared

    # Leaving, silence

    def remove(self, group: G, members: Sequence[M], silent_for: str = "") -> None:
        """Members are gone, and what they had is free: the group begins another epoch.

        `silent_for` tells why they were sent away; without it they have left.
        """
        self._tell_gone(group, members, silent_for)
        changes = self.changes(group)
        for member in members:
            changes.extend(group.records.no_member(group.group_id, member.member_id))
        self._raise_epoch(changes)
        self.commit(changes)

    def _tell_gone(self, group: G, members: Sequence[M], silent_for: str) -> None:
        kind, why = ("group.expired", silent_for) if silent_for else ("group.left", "it left")
        happenings = self._services.happenings
        happenings.gone(kind, group.group_id, why, *(each.member_id for each in members))

    def changes(self, group: G) -> Changes[G]:
        """Changes of a request that begins now."""
        return Changes(group, now_ms=self._services.now_ms())

    @abstractmethod
    def _raise_epoch(self, changes: Changes[G]) -> None:
        """Begin another group epoch, with the topics as they are now."""

    def commit(self, changes: Changes[G]) -> None:
        """Write the changes, if there are any. Raises KafkaError."""
        if changes.records:
            changes.save(self._services.save)
            self._services.happenings.changed(changes.group)

    def timers_of(self, group: G, member_id: str) -> MemberTimers:
        """The member's timers, whose expiry removes it."""
        timers = group.timers.get(member_id)
        if timers is None:

            def expire() -> None:
                member = group.members.get(member_id)
                if member is not None:
                    self.remove(group, [member], "it was not heard of, or kept what it had")

            timers = group.timers[member_id] = MemberTimers(expire)
        return timers

    def put_off(self, group: G, member_id: str) -> None:
        """The member was heard of: its session begins anew."""
        timeout_ms = self._session_timeout_ms(group, group.members[member_id])
        self._services.sessions.set(self.timers_of(group, member_id).session, timeout_ms / 1000)

    def _session_timeout_ms(self, group: G, member: M) -> int:
        return self._services.overrides.session_timeout_ms(self._type, group.group_id)

    def watch_revocation(self, group: G, member: M) -> None:
        """A member must give up what it is asked to within its rebalance timeout."""
        timer = self.timers_of(group, member.member_id).revoke
        if member.state is not MemberState.UNREVOKED:
            timer.cancel()
        elif not timer.is_set:
            self._services.sessions.set(timer, member.rebalance_timeout_ms / 1000)

    def watch(self, group: G) -> None:
        """The group has been loaded, or is new here: all sessions begin anew."""
        for member in group.members.values():
            self.put_off(group, member.member_id)
            if not member.speaks_classic:
                self.watch_revocation(group, member)


class DecidingProtocol(ModernProtocol[G, M, Q_contra], Generic[G, M, Q_contra, A_co]):
    """Rules that first decide what a heartbeat changes, and then carry it out."""

    response: type[Any]
    """The message of the answer."""

    def _response(self, group: G, member: M) -> Any:
        return self.response(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self.heartbeat_interval_ms(group),
        )

    def heartbeat(
        self,
        changes: Changes[G],
        caller: Caller,
        request: Q_contra,
        written: Callable[[], None] = lambda: None,
    ) -> A_co:
        """The row of the answer to a member that stays, joins or changes.

        `written` is called once the changes are in the log. Raises KafkaError if the member is
        refused, or cannot be written.
        """
        return self.carry_out(changes, self.decide(changes, caller, request), written)

    @abstractmethod
    def decide(self, changes: Changes[G], caller: Caller, request: Q_contra) -> Any:
        """Make the changes of a heartbeat, to the group only. Raises KafkaError."""

    @abstractmethod
    def carry_out(self, changes: Changes[G], decision: Any, written: Callable[[], None]) -> A_co:
        """Write the changes of a heartbeat, and answer. Raises KafkaError."""


def new_targets_are_due(services: GroupServices, group: ModernGroup[Any, Any]) -> bool:
    """False within the assignment interval: changes that come together are dealt with once, by
    the next heartbeat after it."""
    interval_ms = services.overrides.assignment_interval_ms(
        group.records.group_type, group.group_id
    )
    return not group.assigned_at_ms or services.now_ms() >= group.assigned_at_ms + interval_ms


def set_targets(
    services: GroupServices,
    changes: Changes[G],
    targets: Mapping[str, T],
    record: Callable[[str, str, T], Change],
) -> None:
    """The targets are those of the group epoch now; `record(group_id, member_id, target)`."""
    group, group_id = changes.group, changes.group.group_id
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            changes.add(record(group_id, member_id, target))
    changes.add(group.records.assignment_epoch(group_id, group.epoch, services.now_ms()))
