"""The rules of ShareGroupHeartbeat, and of silence, for share groups (KIP-932).

A heartbeat does in this order what there is to do, all of it written as one batch:

    1. create or change the member; a changed subscription, changed topics, or partitions that have
       become ready raise the group epoch
    2. compute a new target, if the group epoch is ahead of it
    3. give the member its target
    4. note which partitions the share coordinator has to initialize; that happens right after
       (share_states.py)

Source of the rules: Kafka's GroupMetadataManager (shareGroup...).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from kafkalite.group_coordinator import share_records, state_log
from kafkalite.group_coordinator.assignors import Candidate, Target
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH
from kafkalite.group_coordinator.heartbeat_checks import fenced, group_full, unknown_member
from kafkalite.group_coordinator.share_assignor import assign_simple
from kafkalite.group_coordinator.share_group import SessionTimer, ShareGroup, ShareMember
from kafkalite.group_coordinator.share_states import Offsets, ShareChanges, ShareStates
from kafkalite.group_coordinator.subscriptions import metadata_hash, partition_counts
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

_logger = logging.getLogger(__name__)


class ShareProtocol:
    """The rules, for all share groups of a coordinator.

    `save(group_id, records)` makes records durable.
    """

    def __init__(
        self,
        config: GroupConfig,
        overrides: GroupOverrides,
        timers: Timers,
        topics: TopicsView,
        states: ShareStates,
        now_ms: Callable[[], int],
        save: Callable[[str, Sequence[state_log.StateRecord]], None],
    ) -> None:
        self._config = config
        self._overrides = overrides
        self._timers = timers
        self._topics = topics
        self._states = states
        self._now_ms = now_ms
        self._save = save

    # ShareGroupHeartbeat

    def heartbeat(
        self,
        group: ShareGroup,
        caller: Caller,
        request: ShareGroupHeartbeatRequest,
        written: Callable[[], None] = lambda: None,
    ) -> ShareGroupHeartbeatResponse:
        """A member is there, comes, or changes. `written` is called once that is in the log.

        KafkaError when it is refused, or cannot be written.
        """
        before = group.members.get(request.member_id)
        if before is not None and _changes_nothing(group, before, caller, request):
            self.put_off(group, before.member_id)
            return self._response(group, before)
        self._check_room(group, request.member_id)
        if before is None and request.member_epoch != JOIN_EPOCH:
            raise unknown_member(group.group_id, request.member_id)
        before = before or ShareMember(member_id=request.member_id)
        _check_epoch(before, request.member_epoch)
        changes = self._states.changes(group)
        raised = self._update_member(changes, _updated(before, caller, request))
        self._assign(changes)
        member = self._reconcile(changes, request.member_id, raised)
        to_initialize = self._states.note_missing(changes)
        self._states.commit(changes)
        written()
        self.put_off(group, member.member_id)
        response = self._response(group, member)
        is_full = request.subscribed_topic_names is not None
        if request.member_epoch == JOIN_EPOCH or is_full or member.assigned != before.assigned:
            response.assignment = Assignment(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in member.assigned.items()
                ]
            )
        if to_initialize:
            self._initialize_for_members(group, to_initialize)
        else:
            group.is_settled = group.epoch == group.assignment_epoch and not group.initializing
        return response

    def _response(self, group: ShareGroup, member: ShareMember) -> ShareGroupHeartbeatResponse:
        return ShareGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._overrides.share_heartbeat_interval_ms(group.group_id),
        )

    def _initialize_for_members(self, group: ShareGroup, offsets: Offsets) -> None:
        """The next heartbeats find out what comes of it."""
        try:
            for (topic_id, partition), error in self._states.initialize(group, offsets).items():
                _logger.warning(
                    "%s: no share state for partition %d of %s: %s",
                    group.group_id,
                    partition,
                    topic_id,
                    error,
                )
        except KafkaError as error:
            _logger.warning("%s: what was initialized is not noted: %s", group.group_id, error)

    def _check_room(self, group: ShareGroup, member_id: str) -> None:
        largest = self._config.group_share_max_size
        if len(group.members) >= largest and member_id not in group.members:
            raise group_full("share", largest)

    def _update_member(self, changes: ShareChanges, member: ShareMember) -> bool:
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
        hashed = metadata_hash(group.subscribed_topics, self._topics)
        raises |= hashed != group.metadata_hash
        if raises:
            changes.add(share_records.group(group.group_id, group.epoch + 1, hashed))
        group.is_metadata_stale = False
        return raises

    def _assign(self, changes: ShareChanges) -> None:
        """Step 2."""
        group, group_id = changes.group, changes.group.group_id
        now_ms = self._now_ms()
        if group.epoch <= group.assignment_epoch:
            return
        interval_ms = self._overrides.share_assignment_interval_ms(group_id)
        if group.assigned_at_ms and now_ms < group.assigned_at_ms + interval_ms:
            return  # the next heartbeats will: changes that come together are dealt with once
        counts = partition_counts(group.subscribed_topics, self._topics)
        candidates = [
            Candidate(
                member.member_id,
                None,
                frozenset(partition_counts(member.subscribed_topic_names, self._topics)),
                group.targets.get(member.member_id, {}),
            )
            for member in group.members.values()
        ]
        for member_id, target in assign_simple(candidates, counts, group.is_ready).items():
            if target != group.targets.get(member_id):
                changes.add(share_records.target(group_id, member_id, target))
        changes.add(share_records.assignment_epoch(group_id, group.epoch, now_ms))

    def _reconcile(self, changes: ShareChanges, member_id: str, raised: bool) -> ShareMember:
        """Step 3. Returns the member as it is then."""
        group = changes.group
        member = group.members[member_id]
        if member.member_epoch == group.assignment_epoch and not raised:
            return member
        subscribed = partition_counts(member.subscribed_topic_names, self._topics)
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
        if request.member_id not in group.members:
            raise unknown_member(group.group_id, request.member_id)
        self._remove(group, request.member_id)
        return ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def _remove(self, group: ShareGroup, member_id: str) -> None:
        changes = self._states.changes(group)
        changes.extend(share_records.no_member(group.group_id, member_id))
        hashed = metadata_hash(group.subscribed_topics, self._topics)
        changes.add(share_records.group(group.group_id, group.epoch + 1, hashed))
        self._states.commit(changes)

    def _expire(self, group: ShareGroup, member_id: str) -> None:
        if member_id not in group.members:
            return
        try:
            self._remove(group, member_id)
        except KafkaError:
            self.put_off(group, member_id)  # it cannot be written now; it is tried again

    def put_off(self, group: ShareGroup, member_id: str) -> None:
        """The member was heard of: its session begins anew."""
        if member_id not in group.members:
            return
        timers = group.timers.get(member_id)
        if timers is None:
            timers = SessionTimer(lambda: self._expire(group, member_id))
            group.timers[member_id] = timers
        timeout_ms = self._overrides.share_session_timeout_ms(group.group_id)
        self._timers.set(timers.session, timeout_ms / 1000)

    def watch(self, group: ShareGroup) -> None:
        """The group has been loaded: all sessions begin anew."""
        for member_id in group.members:
            self.put_off(group, member_id)


def _check_epoch(member: ShareMember, epoch: int) -> None:
    """A member may be one epoch behind if the answer with the new one was lost."""
    if epoch in (JOIN_EPOCH, member.member_epoch):
        return
    if epoch < member.member_epoch:
        previous = member.previous_member_epoch
        if epoch == previous:
            return
        besides = f", and it does not match the previous member epoch ({previous})"
        raise fenced("share", epoch, member.member_epoch, besides=besides)
    raise fenced("share", epoch, member.member_epoch)


def _updated(
    member: ShareMember, caller: Caller, request: ShareGroupHeartbeatRequest
) -> ShareMember:
    """The member with what the request says of it; what it does not mention stays."""
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
    """The heartbeat of a member at rest in a group at rest, which is nearly every one."""
    return (
        group.is_settled
        and not group.is_metadata_stale
        and request.member_epoch == member.member_epoch == group.assignment_epoch
        and request.subscribed_topic_names is None
        and request.rack_id in (None, member.rack_id)
        and caller.client_id == member.client_id
        and shown_host(caller) == member.client_host
    )
