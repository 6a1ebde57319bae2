"""The phases of a classic group's rebalance, from the first who must join again to the last synced.

    begin        all members are to join again; those that wait for an assignment are told so
    phase ends   when all known members have joined, or the longest rebalance timeout is over
                 (a group that was empty waits the initial delay instead, longer if more come)
    generation   all who joined get the new generation, and the leader the members to assign to
    assigned     the leader's assignment is stored, then handed out
    sync late    members that have not synced within the rebalance timeout are dropped: rebalance

A member that waits has left its answer callback with the group. Nothing awaits here.
Source of the rules: Kafka's GroupMetadataManager (classicGroup...), KIP-62, KIP-134, KIP-345.
"""

import contextlib
from collections import deque
from typing import Final

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_answers import joined, synced
from kafkalite.group_coordinator.classic_group import ClassicGroup, Event, State
from kafkalite.group_coordinator.classic_member import AnswerSync, sync_refused
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.sync_group import SyncGroupResponseRow

# Members of a large group that are told their assignments before others have their turn.
_ANSWERED_AT_ONCE: Final = 256


class ClassicRebalances:
    """The rebalances of all groups of a coordinator."""

    def __init__(self, services: GroupServices) -> None:
        self._config = services.config
        self._sessions = services.sessions
        self._phases = services.phases
        self._now_ms = services.now_ms
        self._save = services.save
        self._happenings = services.happenings
        # The members, of all groups, that are still to be told, in their order.
        self._untold: deque[tuple[AnswerSync, SyncGroupResponseRow]] = deque()
        self._telling = Timer(self._tell_some)

    def watch(self, group: ClassicGroup) -> None:
        """Give a group its timer."""
        group.phase = Timer(lambda: self._end_phase(group))

    def rebalance(self, group: ClassicGroup) -> None:
        """Have all members join again, unless they are at it already."""
        if group.can(Event.REBALANCE_NEEDED):
            self.begin(group)

    def begin(self, group: ClassicGroup, why: str = "") -> None:
        """Have all members join again. `why` is told with the event."""
        generation = group.generation_id
        self._happenings.tell("rebalance.began", group.group_id, why, generation=generation)
        if group.state is State.COMPLETING_REBALANCE:
            for member in group.members.values():
                member.assignment = b""
            self._hand_out(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        group.on(Event.REBALANCE_NEEDED, self._now_ms())
        longest_ms = group.rebalance_timeout_ms
        if group.previous_state is State.EMPTY:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            group.initial_delay_left_ms = max(longest_ms - delay_ms, 0)
            group.new_member_added = False
            self._phases.set(group.phase, delay_ms / 1000)
        elif group.all_joined() or not group.members:
            # Pending members do not delay the rebalance. (Kafka sets a timer of no time here.)
            self._complete_join(group)
        else:
            self._phases.set(group.phase, longest_ms / 1000)

    def member_joined(self, group: ClassicGroup) -> None:
        """A member came, or changed: begin a rebalance, or end the phase if it was the last."""
        if group.can(Event.REBALANCE_NEEDED):
            self.begin(group, "a member came, or changed")
        else:
            self.complete_join_if_all_there(group)

    def complete_join_if_all_there(self, group: ClassicGroup) -> None:
        """End the phase, unless the rebalance is the initial one, which waits for more members."""
        if (
            group.state is State.PREPARING_REBALANCE
            and group.previous_state is not State.EMPTY
            and group.all_joined()
        ):
            self._complete_join(group)

    def _complete_join(self, group: ClassicGroup) -> None:
        for member in [m for m in group.members.values() if m.answer_join is None]:
            if not member.is_static:  # static members have until their session ends
                group.remove(member.member_id)
                why = "it did not join again in time"
                self._happenings.gone("group.expired", group.group_id, why, member.member_id)
        if group.members and not group.elect_joined_leader():
            group.initial_delay_left_ms = 0
            self._phases.set(group.phase, group.rebalance_timeout_ms / 1000)
            return
        group.phase.cancel()
        group.start_generation(self._now_ms())
        if group.is_empty:
            self._tell_end(group, "no members are left")
            # Should this be lost, the generation before comes back, and its members time out.
            with contextlib.suppress(KafkaError):
                self._save(group.group_id, [state_log.group_metadata(group)])
            return
        for member in tuple(group.members.values()):
            group.answer_join(member, joined(group, member))
            member.put_off(self._sessions)
            member.is_new = False
            group.pending_sync.add(member.member_id)
        self._phases.set(group.phase, group.rebalance_timeout_ms / 1000)

    def member_left(self, group: ClassicGroup) -> None:
        """A member went: those that are left join again, or need not wait for it."""
        if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self.begin(group, "a member went")
        else:
            self.complete_join_if_all_there(group)

    def member_silent(self, group: ClassicGroup) -> None:
        """A member was dropped: as `member_left`, but an initial rebalance may end early."""
        if group.state is State.PREPARING_REBALANCE and group.all_joined():
            self._complete_join(group)
        elif group.state is not State.PREPARING_REBALANCE:
            self.member_left(group)

    def _end_phase(self, group: ClassicGroup) -> None:
        """The group's timer has expired."""
        if group.state is State.PREPARING_REBALANCE:
            if group.new_member_added and group.initial_delay_left_ms:
                group.new_member_added = False
                delay_ms = self._config.group_initial_rebalance_delay_ms
                self._phases.set(group.phase, min(delay_ms, group.initial_delay_left_ms) / 1000)
                group.initial_delay_left_ms = max(group.initial_delay_left_ms - delay_ms, 0)
            else:
                self._complete_join(group)
        elif group.pending_sync:
            for member_id in tuple(group.pending_sync):
                group.remove(member_id)
                why = "it did not sync in time"
                self._happenings.gone("group.expired", group.group_id, why, member_id)
            self.begin(group, "members did not sync in time")

    def assign(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        """Store the leader's assignment by member id, and hand it out. If it cannot be stored the
        members get the error, and a rebalance begins."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        try:
            self._save(group.group_id, [state_log.group_metadata(group)])
        except KafkaError as refused:
            for member in group.members.values():
                member.assignment = b""
            self._hand_out(group, refused.code)
            self.begin(group, f"the assignment could not be stored: {refused}")
            return
        group.on(Event.ASSIGNED, self._now_ms())
        self._tell_end(group, "")
        self._hand_out(group, ErrorCode.NONE)

    def _tell_end(self, group: ClassicGroup, why: str) -> None:
        self._happenings.tell(
            "rebalance.ended",
            group.group_id,
            why,
            generation=group.generation_id,
            members=len(group.members),
        )

    def _hand_out(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        for member in group.members.values():
            if member.answer_sync is not None:
                refusal = None if error_code is ErrorCode.NONE else sync_refused(error_code)
                self._untold.append((member.answer_sync, refusal or synced(group, member)))
                member.answer_sync = None
                # Parked, it could not heartbeat; its session begins anew.
                member.put_off(self._sessions)
        self._tell_some()

    def _tell_some(self) -> None:
        for _ in range(min(len(self._untold), _ANSWERED_AT_ONCE)):
            answer, response = self._untold.popleft()
            answer(response)
        if self._untold:
            self._phases.set(self._telling, 0)

    def tell_all(self) -> None:
        """Tell the assignments that are handed out and not told yet: there may be no later."""
        while self._untold:
            self._tell_some()
        self._telling.cancel()
