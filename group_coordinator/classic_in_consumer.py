"""Members that speak the classic protocol in a group of the consumer protocol.

Their requests are translated. JoinGroup is a heartbeat that joins, or changes the subscription, and
names the partitions the member has. SyncGroup fetches the assignment. Heartbeat says when to join
again. No request waits: the coordinator knows the assignment.
Source: KIP-848, Kafka's GroupMetadataManager (classicGroup...ToConsumerGroup).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_answers import leave_each
from kafkalite.group_coordinator.classic_protocol import KNOWN_MEMBER_ID_SINCE, differs
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember, Owned
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.heartbeat_checks import unknown_member
from kafkalite.group_coordinator.large_groups import are_many
from kafkalite.group_coordinator.modern_member import MemberState
from kafkalite.group_coordinator.protocol_change import Downgrade, ProtocolChange, classic_metadata
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.subscriptions import (
    by_name,
    encoded_assignment,
    subscription_from,
    topics_in,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import MemberIdentity, MemberResponse
from kafkalite.wire.messages.sync_group import SyncGroupRequestRow, SyncGroupResponseRow

if TYPE_CHECKING:
    from kafkalite.group_coordinator.rehearsal import Rehearsal

# A larger subscription has many topics, or many partitions that the member has.
_SMALL_BYTES: Final = 4096


class Joined(NamedTuple):
    """The outcome of a JoinGroup: the member as it is then, its protocol, and the classic group
    that the group becomes."""

    member: ConsumerMember
    protocol_name: str
    downgrade: Downgrade | None


class ClassicInConsumer:
    """The rules. `change` makes a group classic when its last other member is replaced."""

    def __init__(
        self, services: GroupServices, consumer: ConsumerProtocol, change: ProtocolChange
    ) -> None:
        self._config = services.config
        self._now_ms = services.now_ms
        self._sessions = services.sessions
        self._topics = services.topics
        self._consumer = consumer
        self._change = change

    def takes_long(self, group: ConsumerGroup, request: JoinGroupRequest) -> bool:
        """True for a JoinGroup whose changes a thread is to work out (`rehearsal`)."""
        metadata = request.protocols[0].metadata if request.protocols else b""
        return (
            len(metadata) > _SMALL_BYTES
            or are_many(group.subscribed_topics, self._topics)
            or are_many(topics_in(bytes(metadata)), self._topics)
        )

    def join(
        self, group: ConsumerGroup, caller: Caller, request: JoinGroupRequest
    ) -> JoinGroupResponse:
        """Join, or join again with what is owned now."""
        changes = self._consumer.changes(group)
        member_id = request.member_id or self._consumer.new_member_id()
        return self.carry_out(changes, self._decide(changes, caller, request, member_id))

    def rehearsal(
        self, group: ConsumerGroup, caller: Caller, request: JoinGroupRequest
    ) -> Rehearsal[ConsumerGroup, Joined | JoinGroupResponse]:
        """The first half of `join`, for a thread."""
        from kafkalite.group_coordinator.rehearsal import Rehearsal  # with the first large group

        member_id = request.member_id or self._consumer.new_member_id()
        return Rehearsal(
            group,
            self._now_ms(),
            lambda changes: self._decide(changes, caller, request, member_id),
        )

    def _decide(
        self,
        changes: Changes[ConsumerGroup],
        caller: Caller,
        request: JoinGroupRequest,
        member_id: str,
    ) -> Joined | JoinGroupResponse:
        """Make the changes of a JoinGroup, to the group only. Raises KafkaError."""
        group, instance_id = changes.group, request.group_instance_id
        names = [protocol.name for protocol in request.protocols]
        if self._config.group_consumer_migration_policy == "disabled":
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if member_id not in group.members:
            self._consumer.check_room(group)
        if not group.supports_classic(request.protocol_type, names):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if (
            not request.member_id
            and instance_id is None
            and caller.api_version >= KNOWN_MEMBER_ID_SINCE
        ):
            return JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED)
        replaced = group.static_member(instance_id)
        epoch = group.epoch
        downgrades = (
            replaced is not None
            and replaced.classic is None
            and self._change.may_downgrade(group, [replaced])
        )
        member = self._member_for(changes, request, member_id)
        subscription = subscription_from(
            bytes(request.protocols[0].metadata), group.group_id, member_id
        )
        if subscription is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        member = _updated(member, caller, request, subscription)
        subscription_changed = self._consumer.targets.update_member(changes, member, caller)
        # The members of a downgraded group rejoin if the assignment is stale.
        is_stale = group.assignment_epoch < group.epoch
        if not (downgrades and is_stale):
            member = self._consumer.targets.reconcile(
                changes, member_id, self._owned(subscription), subscription_changed
            )
        downgrade = None
        if downgrades:
            downgrade = self._change.downgrade(group, epoch, rebalances=is_stale)
        return Joined(member, names[0], downgrade)

    def carry_out(
        self, changes: Changes[ConsumerGroup], joined: Joined | JoinGroupResponse
    ) -> JoinGroupResponse:
        """Write the changes of a JoinGroup, and answer. Raises KafkaError."""
        if isinstance(joined, JoinGroupResponse):
            return joined
        group, member = changes.group, joined.member
        member_id = member.member_id
        self._consumer.commit(changes)
        response = JoinGroupResponse(
            member_id=member_id,
            generation_id=member.member_epoch,
            protocol_type=group.protocol_type,
            protocol_name=joined.protocol_name,
        )
        if joined.downgrade is not None:
            self._change.carry_out(group, joined.downgrade)
            return response
        timers = self._consumer.timers_of(group, member_id)
        timers.join.cancel()
        timers.revoke.cancel()
        self._consumer.put_off(group, member_id)
        self._sessions.set(timers.sync, member.rebalance_timeout_ms / 1000)
        return response

    def _member_for(
        self, changes: Changes[ConsumerGroup], request: JoinGroupRequest, member_id: str
    ) -> ConsumerMember:
        group, instance_id = changes.group, request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or group.new_member(member_id)
        if request.member_id:
            return self._consumer.known_member(group, member_id, instance_id)
        static = group.static_member(instance_id)
        if static is None:
            return group.new_member(member_id)
        return self._consumer.replace_static(changes, static, member_id)

    def _owned(self, subscription: ConsumerProtocolSubscription) -> Owned:
        ids = [
            (self._topics.topic_id(t.topic), t.partitions) for t in subscription.owned_partitions
        ]
        return {
            topic_id: frozenset(partitions) for topic_id, partitions in ids if topic_id is not None
        }

    def sync(self, group: ConsumerGroup, request: SyncGroupRequestRow) -> SyncGroupResponseRow:
        """The member's assignment, as the leader of a classic group would have made it."""
        _, generation_id, member_id, instance_id, protocol_type, protocol_name, _ = request
        member = self._member(group, member_id, instance_id)
        assert member.classic is not None
        first = member.classic.supported_protocols[0]
        if generation_id != member.member_epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if differs(protocol_type, group.protocol_type) or differs(protocol_name, first.name):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        # The group's epoch is ahead of the target when others have gone, until somebody is heard.
        unrevoked = member.state is MemberState.UNREVOKED
        if group.assignment_epoch > member.member_epoch and not unrevoked:
            self._expect_join(group, member)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._consumer.timers_of(group, member.member_id).sync.cancel()
        self._consumer.put_off(group, member.member_id)
        assignment = encoded_assignment(by_name(member.assigned, self._topics), first.metadata)
        return 0, ErrorCode.NONE, protocol_type, protocol_name, assignment

    def heartbeat(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> ErrorCode:
        """NONE, or REBALANCE_IN_PROGRESS if the member is to join again.

        It joins for a new target, to confirm that it has given partitions up, or when a partition
        that it waits for is free.
        """
        member = self._member(group, member_id, instance_id)
        if generation_id != member.member_epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        self._consumer.put_off(group, member_id)
        if (
            member.member_epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED
            or (member.state is MemberState.UNRELEASED and not group.is_waiting(member))
        ):
            self._expect_join(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(
        self, group: ConsumerGroup, leaving: Sequence[MemberIdentity]
    ) -> list[MemberResponse]:
        """Let members of both protocols go: an administrator need not know which one they speak."""
        gone: dict[str, ConsumerMember] = {}

        def leave(identity: MemberIdentity) -> None:
            member = self._leaving(group, identity)
            gone[member.member_id] = member

        responses = leave_each(leaving, leave)
        if gone:
            self._consumer.remove(group, list(gone.values()))
        return responses

    def _leaving(self, group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if instance_id is not None and not member_id:
            static = group.static_member(instance_id)
            member_id = "" if static is None else static.member_id
        return self._consumer.known_member(group, member_id, instance_id)

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> ConsumerMember:
        """The member, which must speak the classic protocol."""
        member = self._consumer.known_member(group, member_id, instance_id)
        if member.classic is None:
            raise unknown_member(group.group_id, member_id)
        return member

    def _expect_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timer = self._consumer.timers_of(group, member.member_id).join
        if not timer.is_set:
            self._sessions.set(timer, member.rebalance_timeout_ms / 1000)


def _updated(
    member: ConsumerMember,
    caller: Caller,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
) -> ConsumerMember:
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id or request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.session_timeout_ms if timeout_ms < 0 else timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        client_id=caller.client_id,
        client_host=shown_host(caller),
        classic=classic_metadata(request.session_timeout_ms, request.protocols),
    )
