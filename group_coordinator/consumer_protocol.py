"""The effects of ConsumerGroupHeartbeat and of silence on a consumer group (KIP-848).

A heartbeat that changes anything takes these steps, and all changes are written as one batch:

    1. find the member, or make it: an unknown one may only join, a wrong epoch is fenced
    2. update the member, the group's target, and the member's assignment (consumer_targets.py)
    3. begin the member's session anew

Source of the rules: Kafka's GroupMetadataManager (consumerGroup...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember, Owned, is_subset, owned_from
from kafkalite.group_coordinator.consumer_targets import ConsumerTargets
from kafkalite.group_coordinator.heartbeat_checks import check_epoch
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from kafkalite.group_coordinator.modern_protocol import DecidingProtocol, set_targets
from kafkalite.group_coordinator.modern_records import rows_by_topic
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.kafka_uuid import new_kafka_uuid
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseRow,
    TopicPartitionsRow,
)
from kafkalite.wire.rows import SharedResponse, rows_of


class Decision(NamedTuple):
    """The outcome of a heartbeat: the member as it is then, and the partitions that it is told."""

    member: ConsumerMember
    assigned: list[TopicPartitionsRow] | None


class ConsumerProtocol(
    DecidingProtocol[
        ConsumerGroup,
        ConsumerMember,
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponseRow,
    ]
):
    """The rules, for all groups of a coordinator.

    `members_gone(group, members)` is asked before members are removed. It returns True if it has
    removed them itself and made the group a classic one.
    """

    response = ConsumerGroupHeartbeatResponse

    def __init__(self, services: GroupServices) -> None:
        super().__init__(ConsumerGroup, services)
        self.targets = ConsumerTargets(services)
        self.members_gone: Callable[[ConsumerGroup, Sequence[ConsumerMember]], bool] = (
            lambda group, members: False
        )

    def new_member_id(self) -> str:
        """The text of Kafka's Uuid: 22 characters, the first of them no dash."""
        return new_kafka_uuid(self._services.new_uuid)

    # ConsumerGroupHeartbeat

    def steady(
        self,
        group: ConsumerGroup,
        caller: Caller,
        request: ConsumerGroupHeartbeatRequest,
        row: tuple[Any, ...],
    ) -> SharedResponse | None:
        member = group.members.get(request.member_id)
        if (
            member is not None
            and self._changes_nothing(member, request)
            and self._is_settled(group, member)
        ):
            return self.keep_answer(group, member, caller, row, self._response(group, member))
        return None

    def decide(
        self,
        changes: Changes[ConsumerGroup],
        caller: Caller,
        request: ConsumerGroupHeartbeatRequest,
    ) -> Decision:
        group = changes.group
        member_id = request.member_id or self.new_member_id()
        if member_id not in group.members:
            self.check_room(group)
        owned = owned_from(request.topic_partitions)
        before = self._member_for(group, request, member_id, owned)
        if request.subscribed_topic_regex:
            # Imported with the handler. A bad expression is refused before anything changes.
            from kafkalite.group_coordinator.expressions import compile_expression

            compile_expression(request.subscribed_topic_regex)
        if request.member_epoch == JOIN_EPOCH and before is _static(group, request):
            before = self.replace_static(changes, before, member_id)
        subscription_changed = self.targets.update_member(
            changes, _updated(before, caller, request), caller
        )
        member = self.targets.reconcile(changes, member_id, owned, subscription_changed)
        is_full = (
            request.rebalance_timeout_ms != -1
            and (
                request.subscribed_topic_names is not None
                or request.subscribed_topic_regex is not None
            )
            and request.topic_partitions is not None
        )
        is_told = request.member_epoch == JOIN_EPOCH or is_full or _differ(before, member)
        return Decision(member, rows_by_topic(member.assigned) if is_told else None)

    def carry_out(
        self, changes: Changes[ConsumerGroup], decision: Decision, written: Callable[[], None]
    ) -> ConsumerGroupHeartbeatResponseRow:
        group, member = changes.group, decision.member
        self.commit(changes)
        written()
        self.put_off(group, member.member_id)
        self.watch_revocation(group, member)
        self._keep_looking(group)
        answer: ConsumerGroupHeartbeatResponseRow = rows_of(self._response(group, member))
        return answer if decision.assigned is None else (*answer[:-1], (decision.assigned,))

    def _keep_looking(self, group: ConsumerGroup) -> None:
        """Regular expressions are looked at again after a while: what members may describe may
        have changed."""
        if group.next_look.is_set or not group.used_expressions:
            return
        interval_ms = self._services.config.group_consumer_regex_refresh_interval_ms
        group.next_look.expire = partial(self._look_again, group)
        self._services.sessions.set(group.next_look, interval_ms / 1000)

    def _look_again(self, group: ConsumerGroup) -> None:
        group.topics_changed()
        self._keep_looking(group)

    def _changes_nothing(
        self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> bool:
        """True if the heartbeat only says that the member is there. Nearly every heartbeat is such
        a one."""
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

    def _member_for(
        self,
        group: ConsumerGroup,
        request: ConsumerGroupHeartbeatRequest,
        member_id: str,
        owned: Owned | None,
    ) -> ConsumerMember:
        """The member that sent the heartbeat; a new one, not in the group yet, if it joins.

        A static member that comes back is found under the id that it had before.
        """
        instance_id = request.instance_id
        if instance_id is not None and request.member_epoch == JOIN_EPOCH:
            static = _static(group, request)
            if static is None:  # a member that is there becomes static
                return group.members.get(member_id) or group.new_member(member_id)
            if static.member_epoch != STATIC_LEAVE_EPOCH and static.classic is None:
                raise KafkaError(
                    ErrorCode.UNRELEASED_INSTANCE_ID,
                    f"Static member {member_id} with instance id {instance_id} cannot join the "
                    f"group because the instance id is owned by {static.member_id} member.",
                )
            return static
        if request.member_epoch == JOIN_EPOCH and member_id not in group.members:
            return group.new_member(member_id)
        member = self.known_member(group, member_id, instance_id)
        check_epoch(
            "consumer", member, request.member_epoch, lambda: is_subset(owned, member.assigned)
        )
        return member

    def known_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> ConsumerMember:
        """The member, or KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
        if instance_id is None:
            return group.member(member_id)
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
        changes.extend(group.records.no_member(group.group_id, old.member_id))
        changes.add(consumer_records.member(group.group_id, new))
        changes.add(consumer_records.target(group.group_id, member_id, target))
        changes.add(consumer_records.current_assignment(group.group_id, new))
        return new

    def rebalance(self, group: ConsumerGroup) -> None:
        """Assign anew though nothing has changed: the group begins another epoch."""
        changes = self.changes(group)
        self._raise_epoch(changes)
        self.commit(changes)

    def assign(self, group: ConsumerGroup, targets: Mapping[str, Target]) -> None:
        """Begin another epoch with these targets by member id. A member without one gets nothing.

        They last until the group is to be assigned anew: somebody joins or goes, a topic changes.
        """
        changes = self.changes(group)
        self._raise_epoch(changes)
        every = {member_id: targets.get(member_id, {}) for member_id in group.members}
        set_targets(self._services, changes, every, consumer_records.target)
        self.commit(changes)

    def _raise_epoch(self, changes: Changes[ConsumerGroup]) -> None:
        self.targets.refresh(changes, raise_epoch=True)

    # Leaving, silence

    def leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """A member goes, for good or (static, -2) for a while."""
        member = self.known_member(group, request.member_id, request.instance_id)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            changes = self.changes(group)
            away = replace(member, member_epoch=STATIC_LEAVE_EPOCH, pending_revocation={})
            changes.add(consumer_records.current_assignment(group.group_id, away))
            self.commit(changes)
        else:
            self.remove(group, [member])
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def remove(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], silent_for: str = ""
    ) -> None:
        if self.members_gone(group, members):
            self._tell_gone(group, members, silent_for)
        else:
            super().remove(group, members, silent_for)

    def _session_timeout_ms(self, group: ConsumerGroup, member: ConsumerMember) -> int:
        """A member that speaks the classic protocol has named its own."""
        if member.classic is not None:
            return member.classic.session_timeout_ms
        return super()._session_timeout_ms(group, member)


def _static(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember | None:
    """The static member that the request names, if it is in the group under any id."""
    return None if request.instance_id is None else group.static_member(request.instance_id)


def _updated(
    member: ConsumerMember, caller: Caller, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """The member with the fields that the request names. The others stay."""
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
