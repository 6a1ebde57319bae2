"""The effects of ConsumerGroupHeartbeat and of silence on a consumer group (KIP-848).

A heartbeat does in this order what there is to do, all of it written as one batch:

    1. find the member, or make it: an unknown one may only join, a wrong epoch is fenced
    2. update the member, the group's target, and the member's assignment (consumer_targets.py)
    3. begin the member's session anew

Source of the rules: Kafka's GroupMetadataManager (consumerGroup...).
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from kafkalite.group_coordinator import consumer_records, state_log
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_checks import check_epoch
from kafkalite.group_coordinator.consumer_group import ConsumerGroup, MemberTimers
from kafkalite.group_coordinator.consumer_member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    ConsumerMemberState,
    Owned,
    owned_from,
)
from kafkalite.group_coordinator.consumer_targets import ConsumerTargets
from kafkalite.group_coordinator.heartbeat_checks import group_full, unknown_member
from kafkalite.group_coordinator.subscriptions import compile_expression
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


class ConsumerProtocol:
    """The rules, for all groups of a coordinator.

    `save(group_id, records)` makes records durable. `members_gone(group, member_ids)` is asked
    first when members are to be removed: it returns True if it has dealt with that by making the
    group a classic one.
    """

    def __init__(
        self,
        config: GroupConfig,
        overrides: GroupOverrides,
        timers: Timers,
        topics: TopicsView,
        now_ms: Callable[[], int],
        save: Callable[[str, Sequence[state_log.StateRecord]], None],
    ) -> None:
        self._config = config
        self._overrides = overrides
        self._timers = timers
        self._save = save
        self.targets = ConsumerTargets(config, overrides, topics, now_ms)
        self.members_gone: Callable[[ConsumerGroup, Sequence[ConsumerMember]], bool] = (
            lambda group, members: False
        )

    # ConsumerGroupHeartbeat

    def heartbeat(
        self,
        changes: Changes[ConsumerGroup],
        caller: Caller,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse:
        """A member is there, comes, or changes. KafkaError when it is refused."""
        group = changes.group
        member = group.members.get(request.member_id)
        if (
            member is not None
            and self._changes_nothing(member, request)
            and self._is_settled(group, member)
        ):
            self.put_off(group, member.member_id)
            return self._response(group, member)
        # A bad expression is refused before anything changes.
        compile_expression(request.subscribed_topic_regex or "")
        member_id = request.member_id or random_id()
        self.check_room(group, member_id)
        owned = owned_from(request.topic_partitions)
        before = self._member_for(changes, request, member_id, owned)
        subscription_changed = self.targets.update_member(
            changes, _updated(before, caller, request)
        )
        member = self.targets.reconcile(changes, member_id, owned, subscription_changed)
        self.commit(changes)
        self.put_off(group, member_id)
        self._watch_revocation(group, member)
        response = self._response(group, member)
        is_full = (
            request.rebalance_timeout_ms != -1
            and (
                request.subscribed_topic_names is not None
                or request.subscribed_topic_regex is not None
            )
            and request.topic_partitions is not None
        )
        if request.member_epoch == JOIN_EPOCH or is_full or _differ(before, member):
            response.assignment = Assignment(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in member.assigned.items()
                ]
            )
        return response

    def _changes_nothing(
        self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> bool:
        """The heartbeat of a member at rest, which is nearly every one."""
        return (
            request.member_epoch == member.member_epoch
            and request.member_epoch > 0
            and request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None
            and request.topic_partitions is None
            and request.rebalance_timeout_ms == -1
            and request.server_assignor is None
            and request.rack_id is None
            and request.instance_id == member.instance_id
            and member.classic is None
        )

    def _is_settled(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        return (
            not group.is_metadata_stale
            and group.epoch == group.assignment_epoch
            and member.is_reconciled_to(group.assignment_epoch)
        )

    def _response(
        self, group: ConsumerGroup, member: ConsumerMember
    ) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._overrides.heartbeat_interval_ms(group.group_id),
        )

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """KafkaError if there is no place for one more."""
        largest = self._config.group_consumer_max_size
        if len(group.members) >= largest and member_id not in group.members:
            raise group_full("consumer", largest)

    def _member_for(
        self,
        changes: Changes[ConsumerGroup],
        request: ConsumerGroupHeartbeatRequest,
        member_id: str,
        owned: Owned | None,
    ) -> ConsumerMember:
        """The member that beats; a new one, which is in no group yet, if it joins."""
        group, instance_id = changes.group, request.instance_id
        if instance_id is not None and request.member_epoch == JOIN_EPOCH:
            static = group.static_member(instance_id)
            if static is None:
                return ConsumerMember(member_id=member_id)
            if static.member_epoch != STATIC_LEAVE_EPOCH and static.classic is None:
                raise KafkaError(
                    ErrorCode.UNRELEASED_INSTANCE_ID,
                    f"Static member {member_id} with instance id {instance_id} cannot join the "
                    f"group because the instance id is owned by {static.member_id} member.",
                )
            return self.replace_static(changes, static, member_id)
        if instance_id is not None:
            member = self.known_static(group, member_id, instance_id)
        else:
            member = group.members.get(member_id) or ConsumerMember(member_id=member_id)
            if member_id not in group.members and request.member_epoch != JOIN_EPOCH:
                raise unknown_member(group.group_id, member_id)
        check_epoch(member, request.member_epoch, owned)
        return member

    def known_static(
        self, group: ConsumerGroup, member_id: str, instance_id: str
    ) -> ConsumerMember:
        """The static member, or KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
        member = group.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise KafkaError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}.",
            )
        return member

    def replace_static(
        self, changes: Changes[ConsumerGroup], old: ConsumerMember, member_id: str
    ) -> ConsumerMember:
        """A static member came back under a new id, and has what it had."""
        group = changes.group
        target = group.targets.get(old.member_id, {})
        new = replace(
            old, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH
        )
        changes.extend(consumer_records.no_member(group.group_id, old.member_id))
        changes.add(consumer_records.member(group.group_id, new))
        changes.add(consumer_records.target(group.group_id, member_id, target))
        changes.add(consumer_records.current_assignment(group.group_id, new))
        return new

    def rebalance(self, group: ConsumerGroup) -> None:
        """Assign anew though nothing has changed: the group begins another epoch."""
        changes = Changes(group)
        self.targets.refresh(changes, raise_epoch=True)
        self.commit(changes)

    # Leaving, silence

    def leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """A member goes, for good or (static, -2) for a while."""
        if request.instance_id is not None:
            member = self.known_static(group, request.member_id, request.instance_id)
        else:
            found = group.members.get(request.member_id)
            if found is None:
                raise unknown_member(group.group_id, request.member_id)
            member = found
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            changes = Changes(group)
            away = replace(member, member_epoch=STATIC_LEAVE_EPOCH, pending_revocation={})
            changes.add(consumer_records.current_assignment(group.group_id, away))
            self.commit(changes)
        else:
            self.remove(group, [member])
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def remove(self, group: ConsumerGroup, members: Sequence[ConsumerMember]) -> None:
        """Members are gone; what they had is free."""
        if self.members_gone(group, members):
            return
        changes = Changes(group)
        for member in members:
            changes.extend(consumer_records.no_member(group.group_id, member.member_id))
        self.targets.refresh(changes, raise_epoch=True)
        self.commit(changes)

    def commit(self, changes: Changes[ConsumerGroup]) -> None:
        if changes.records:
            self._save(changes.group.group_id, changes.records)

    def timers_of(self, group: ConsumerGroup, member_id: str) -> MemberTimers:
        """The member's timers, whose expiry removes it."""
        timers = group.timers.get(member_id)
        if timers is None:

            def expire() -> None:
                member = group.members.get(member_id)
                if member is not None and group.timers.get(member_id) is timers:
                    self.remove(group, [member])

            timers = group.timers[member_id] = MemberTimers(expire)
        return timers

    def put_off(self, group: ConsumerGroup, member_id: str) -> None:
        """The member was heard of: its session begins anew."""
        classic = group.members[member_id].classic
        timeout_ms = (
            self._overrides.session_timeout_ms(group.group_id)
            if classic is None
            else classic.session_timeout_ms
        )
        self._timers.set(self.timers_of(group, member_id).session, timeout_ms / 1000)

    def _watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """A member must give up revoked partitions within its rebalance timeout."""
        timer = self.timers_of(group, member.member_id).revoke
        if member.state is not ConsumerMemberState.UNREVOKED_PARTITIONS:
            timer.cancel()
        elif not timer.is_set:
            self._timers.set(timer, member.rebalance_timeout_ms / 1000)

    def watch(self, group: ConsumerGroup) -> None:
        """The group has been loaded: all sessions begin anew."""
        for member in group.members.values():
            self.put_off(group, member.member_id)
            if member.classic is None:
                self._watch_revocation(group, member)


def _updated(
    member: ConsumerMember, caller: Caller, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """The member with what the request says of it; what it does not mention stays."""
    names, expression = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=request.server_assignor or member.server_assignor,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if expression is None else expression,
        client_id=caller.client_id,
        client_host=shown_host(caller),
        classic=None,
    )


def _differ(before: ConsumerMember, after: ConsumerMember) -> bool:
    """True if other partitions are assigned."""
    return {t: p.keys() for t, p in before.assigned.items()} != {
        t: p.keys() for t, p in after.assigned.items()
    }


def random_id() -> str:
    """The text of Kafka's Uuid: 22 characters, the first of them no dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
