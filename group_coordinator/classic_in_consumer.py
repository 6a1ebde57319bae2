"""Members that speak the classic protocol in a group of the consumer protocol.

What they say is translated: JoinGroup is a heartbeat that joins or changes the subscription and
names what is owned, SyncGroup fetches the assignment, Heartbeat says when to join again. Nothing
parks: the coordinator knows the assignment. Source: KIP-848, Kafka's GroupMetadataManager
(classicGroup...ToConsumerGroup).
"""

from collections.abc import Sequence
from dataclasses import replace

from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_protocol import KNOWN_MEMBER_ID_SINCE, differs
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import (
    ConsumerMember,
    ConsumerMemberState,
    Owned,
)
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol, random_id
from kafkalite.group_coordinator.heartbeat_checks import unknown_member
from kafkalite.group_coordinator.protocol_change import ProtocolChange
from kafkalite.group_coordinator.subscriptions import encoded_assignment, subscription_from
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import MemberIdentity, MemberResponse
from kafkalite.wire.messages.stored.consumer_group_member_metadata import (
    ClassicMemberMetadata,
)
from kafkalite.wire.messages.stored.consumer_group_member_metadata import (
    ClassicProtocol as StoredProtocol,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ClassicInConsumer:
    """The rules. `change` makes a group a classic one."""

    def __init__(
        self,
        config: GroupConfig,
        timers: Timers,
        topics: TopicsView,
        consumer: ConsumerProtocol,
        change: ProtocolChange,
    ) -> None:
        self._config = config
        self._timers = timers
        self._topics = topics
        self._consumer = consumer
        self._change = change

    def join(
        self, group: ConsumerGroup, caller: Caller, request: JoinGroupRequest
    ) -> JoinGroupResponse:
        """Join, or join again with what is owned now."""
        instance_id = request.group_instance_id
        member_id = request.member_id or random_id()
        names = [protocol.name for protocol in request.protocols]
        if self._config.group_consumer_migration_policy == "disabled":
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self._consumer.check_room(group, member_id)
        if not group.supports_classic(request.protocol_type, names):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        subscription = subscription_from(
            bytes(request.protocols[0].metadata), group.group_id, member_id
        )
        if subscription is None:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if (
            not request.member_id
            and instance_id is None
            and caller.api_version >= KNOWN_MEMBER_ID_SINCE
        ):
            return JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED)
        changes = Changes(group)
        replaced = group.static_member(instance_id)
        downgrades = (
            replaced is not None
            and replaced.classic is None
            and self._change.may_downgrade(group, [replaced])
        )
        member = self._member_for(changes, request, member_id)
        member = _updated(member, caller, request, subscription)
        subscription_changed = self._consumer.targets.update_member(changes, member)
        # The members of a downgraded group rejoin if the assignment is stale.
        is_stale = group.assignment_epoch < group.epoch
        if not (downgrades and is_stale):
            member = self._consumer.targets.reconcile(
                changes, member_id, self._owned(subscription), subscription_changed
            )
        self._consumer.commit(changes)
        response = JoinGroupResponse(
            member_id=member_id,
            generation_id=member.member_epoch,
            protocol_type=group.protocol_type,
            protocol_name=names[0],
        )
        if downgrades:
            self._change.downgrade(group, rebalances=is_stale)
            return response
        timers = self._consumer.timers_of(group, member_id)
        timers.join.cancel()
        timers.revoke.cancel()
        self._consumer.put_off(group, member_id)
        self._timers.set(timers.sync, member.rebalance_timeout_ms / 1000)
        return response

    def _member_for(
        self, changes: Changes[ConsumerGroup], request: JoinGroupRequest, member_id: str
    ) -> ConsumerMember:
        group, instance_id = changes.group, request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id=member_id)
        if request.member_id:
            return self._consumer.known_static(group, member_id, instance_id)
        static = group.static_member(instance_id)
        if static is None:
            return ConsumerMember(member_id=member_id)
        return self._consumer.replace_static(changes, static, member_id)

    def _owned(self, subscription: ConsumerProtocolSubscription) -> Owned:
        ids = [
            (self._topics.topic_id(t.topic), t.partitions) for t in subscription.owned_partitions
        ]
        return {
            topic_id: frozenset(partitions) for topic_id, partitions in ids if topic_id is not None
        }

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> SyncGroupResponse:
        """The member's assignment, as the leader of a classic group would have made it."""
        member = self._member(group, request.member_id, request.group_instance_id)
        assert member.classic is not None
        first = member.classic.supported_protocols[0]
        if request.generation_id != member.member_epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if differs(request.protocol_type, group.protocol_type) or differs(
            request.protocol_name, first.name
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        unrevoked = member.state is ConsumerMemberState.UNREVOKED_PARTITIONS
        if group.epoch > member.member_epoch and not unrevoked:
            self._expect_join(group, member)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._consumer.timers_of(group, member.member_id).sync.cancel()
        self._consumer.put_off(group, member.member_id)
        by_name: dict[str, list[int]] = {}
        for topic_id, partitions in member.assigned.items():
            name = self._topics.topic_name(topic_id)
            if name is not None:
                by_name[name] = sorted(partitions)
        return SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encoded_assignment(by_name, first.metadata),
        )

    def heartbeat(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> ErrorCode:
        """REBALANCE_IN_PROGRESS when the member is to join again: for a new target, to confirm that
        it has given partitions up, or because what it waits for has become free."""
        member = self._member(group, member_id, instance_id)
        if generation_id != member.member_epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        self._consumer.put_off(group, member_id)
        if group.is_metadata_stale:
            changes = Changes(group)
            self._consumer.targets.refresh(changes, raise_epoch=False)
            self._consumer.commit(changes)
        if (
            member.member_epoch < group.epoch
            or member.state is ConsumerMemberState.UNREVOKED_PARTITIONS
            or (
                member.state is ConsumerMemberState.UNRELEASED_PARTITIONS
                and not group.is_waiting(member)
            )
        ):
            self._expect_join(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(
        self, group: ConsumerGroup, leaving: Sequence[MemberIdentity]
    ) -> list[MemberResponse]:
        """Let members go, of whichever protocol: an administrator need not know."""
        gone: dict[str, ConsumerMember] = {}
        responses: list[MemberResponse] = []
        for identity in leaving:
            error_code = ErrorCode.NONE
            try:
                member = self._leaving(group, identity)
                gone[member.member_id] = member
            except KafkaError as refused:
                error_code = refused.code
            responses.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=error_code,
                )
            )
        if gone:
            self._consumer.remove(group, list(gone.values()))
        return responses

    def _leaving(self, group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if instance_id is not None and not member_id:
            static = group.static_member(instance_id)
            member_id = "" if static is None else static.member_id
        return self._any_member(group, member_id, instance_id)

    def _any_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> ConsumerMember:
        if instance_id is not None:
            return self._consumer.known_static(group, member_id, instance_id)
        member = group.members.get(member_id)
        if member is None:
            raise unknown_member(group.group_id, member_id)
        return member

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> ConsumerMember:
        """The member, which must speak the classic protocol."""
        member = self._any_member(group, member_id, instance_id)
        if member.classic is None:
            raise unknown_member(group.group_id, member_id)
        return member

    def _expect_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timer = self._consumer.timers_of(group, member.member_id).join
        if not timer.is_set:
            self._timers.set(timer, member.rebalance_timeout_ms / 1000)


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
        classic=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=[
                StoredProtocol(name=protocol.name, metadata=bytes(protocol.metadata))
                for protocol in request.protocols
            ],
        ),
    )
