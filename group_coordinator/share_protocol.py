"""The rules of ShareGroupHeartbeat, and of silence, for share groups (KIP-932).

A heartbeat that changes anything takes these steps, and all changes are written as one batch:

    1. create or change the member; a changed subscription, changed topics, or partitions that have
       become ready raise the group epoch
    2. compute a new target, if the group epoch is ahead of it
    3. give the member its target
    4. note which partitions the share coordinator has to initialize; that happens right after
       (share_states.py)

Source of the rules: Kafka's GroupMetadataManager (shareGroup...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.heartbeat_checks import check_epoch, unknown_member
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH
from kafkalite.group_coordinator.modern_protocol import (
    DecidingProtocol,
    new_targets_are_due,
    set_targets,
)
from kafkalite.group_coordinator.modern_records import rows_by_topic
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.share_assignor import assign_simple
from kafkalite.group_coordinator.share_group import ShareGroup, ShareMember
from kafkalite.group_coordinator.share_keeper import Offsets
from kafkalite.group_coordinator.share_states import ShareStates
from kafkalite.group_coordinator.subscriptions import TopicIds, candidates
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    ShareGroupHeartbeatResponseRow,
    TopicPartitionsRow,
)
from kafkalite.wire.rows import SharedResponse, rows_of


class Decision(NamedTuple):
    """The outcome of a heartbeat: the member as it is then, the partitions that it is told, and
    those that have no state yet."""

    member: ShareMember
    assigned: Sequence[TopicPartitionsRow] | None
    to_initialize: Offsets


class ShareProtocol(
    DecidingProtocol[
        ShareGroup, ShareMember, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponseRow
    ]
):
    """The rules, for all share groups of a coordinator."""

    response = ShareGroupHeartbeatResponse

    def __init__(self, services: GroupServices, states: ShareStates) -> None:
        super().__init__(ShareGroup, services)
        self._topics = services.topics
        self._states = states

    # ShareGroupHeartbeat

    def steady(
        self,
        group: ShareGroup,
        caller: Caller,
        request: ShareGroupHeartbeatRequest,
        row: tuple[Any, ...],
    ) -> SharedResponse | None:
        member = group.members.get(request.member_id)
        if member is None or not _changes_nothing(group, member, caller, request):
            return None
        return self.keep_answer(group, member, caller, row, self._response(group, member))

    def decide(
        self, changes: Changes[ShareGroup], caller: Caller, request: ShareGroupHeartbeatRequest
    ) -> Decision:
        group = changes.group
        before = group.members.get(request.member_id)
        if before is None:
            self.check_room(group)
            if request.member_epoch != JOIN_EPOCH:
                raise unknown_member(group.group_id, request.member_id)
            before = group.new_member(request.member_id)
        check_epoch(
            "share",
            before,
            request.member_epoch,
            if_behind=", and it does not match the previous member epoch "
            f"({before.previous_member_epoch})",
        )
        raised = self._update_member(changes, _updated(before, caller, request))
        ids = TopicIds(self._topics)
        self._assign(changes, ids)
        member = self._reconcile(changes, request.member_id, raised, ids)
        to_initialize = self._states.note_missing(changes)
        is_full = request.subscribed_topic_names is not None
        is_told = (
            request.member_epoch == JOIN_EPOCH or is_full or member.assigned != before.assigned
        )
        return Decision(member, rows_by_topic(member.assigned) if is_told else None, to_initialize)

    def carry_out(
        self, changes: Changes[ShareGroup], decision: Decision, written: Callable[[], None]
    ) -> ShareGroupHeartbeatResponseRow:
        group = changes.group
        self.commit(changes)
        written()
        self.put_off(group, decision.member.member_id)
        answer: ShareGroupHeartbeatResponseRow = rows_of(self._response(group, decision.member))
        if decision.to_initialize:
            self._states.initialize_soon(group, decision.to_initialize)
        else:
            group.is_settled = group.epoch == group.assignment_epoch and not group.initializing
        return answer if decision.assigned is None else (*answer[:-1], (decision.assigned,))

    def _update_member(self, changes: Changes[ShareGroup], member: ShareMember) -> bool:
        """Step 1. Returns whether the group epoch was raised."""
        group = changes.group
        before = group.members.get(member.member_id)
        names = frozenset[str]() if before is None else before.subscribed_topic_names
        raises = member.subscribed_topic_names != names
        # Asked before the member counts, as Kafka does.
        if group.assignment_epoch >= group.epoch:
            raises |= group.has_unassigned_state()
        if member != before:
            changes.add(share_records.member(group.group_id, member))
        if not raises and not group.is_metadata_stale:
            return False
        hashed = group.hash_of(group.subscribed_topics, self._topics, anew=group.is_metadata_stale)
        raises |= hashed != group.metadata_hash
        if raises:
            changes.add(group.records.group_epoch(group.group_id, group.epoch + 1, hashed))
        group.is_metadata_stale = False
        return raises

    def _assign(self, changes: Changes[ShareGroup], ids: TopicIds) -> None:
        """Step 2."""
        group, services = changes.group, self._services
        if group.epoch <= group.assignment_epoch or not new_targets_are_due(services, group):
            return
        counts = ids.counts(group.subscribed_topics)
        targets = assign_simple(candidates(group, ids), counts, group.is_ready)
        set_targets(services, changes, targets, share_records.target)

    def _reconcile(
        self, changes: Changes[ShareGroup], member_id: str, raised: bool, ids: TopicIds
    ) -> ShareMember:
        """Step 3. Returns the member as it is then."""
        group = changes.group
        member = group.members[member_id]
        if member.member_epoch == group.assignment_epoch and not raised:
            return member
        subscribed = ids.of(member.subscribed_topic_names)
        target = group.targets.get(member_id, {})
        assigned: Target = {topic: target[topic] for topic in target if topic in subscribed}
        updated = replace(member, assigned=assigned)
        if member.member_epoch != group.assignment_epoch:
            updated = replace(
                updated,
                previous_member_epoch=member.member_epoch,
                member_epoch=group.assignment_epoch,
            )
        if updated != member:
            changes.add(share_records.current_assignment(group.group_id, updated))
        return group.members[member_id]

    # Leaving, silence

    def leave(
        self, group: ShareGroup, request: ShareGroupHeartbeatRequest
    ) -> ShareGroupHeartbeatResponse:
        self.remove(group, [group.member(request.member_id)])
        return ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def _raise_epoch(self, changes: Changes[ShareGroup]) -> None:
        group = changes.group
        hashed = group.hash_of(group.subscribed_topics, self._topics, anew=group.is_metadata_stale)
        changes.add(group.records.group_epoch(group.group_id, group.epoch + 1, hashed))


def _updated(
    member: ShareMember, caller: Caller, request: ShareGroupHeartbeatRequest
) -> ShareMember:
    """The member with the fields that the request names. The others stay."""
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        client_id=caller.client_id,
        client_host=shown_host(caller),
    )


def _changes_nothing(
    group: ShareGroup, member: ShareMember, caller: Caller, request: ShareGroupHeartbeatRequest
) -> bool:
    """True if the heartbeat only says that the member is there, and the group has nothing to do."""
    return (
        group.is_settled
        and not group.is_metadata_stale
        and request.member_epoch == member.member_epoch == group.assignment_epoch
        and request.subscribed_topic_names is None
        and request.rack_id in (None, member.rack_id)
        and caller.client_id == member.client_id
        and shown_host(caller) == member.client_host
    )
