"""The requests of classic members, answered: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

They go to the rules of the group's protocol: a consumer group takes classic members too (KIP-848).
A request that has to wait is parked here. Refusals become error codes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_in_consumer import ClassicInConsumer
from kafkalite.group_coordinator.classic_member import sync_refused
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.large_groups import tried
from kafkalite.group_coordinator.pending_response import Parked
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shards import Shards
from kafkalite.log.errors import TakesLong
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.heartbeat import HeartbeatRequestRow, HeartbeatResponseRow
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from kafkalite.wire.messages.sync_group import (
    SyncGroupRequestAssignmentRow,
    SyncGroupRequestRow,
    SyncGroupResponseRow,
)

_AT_ONCE: Final = 256


class ClassicGroupRequests:
    """Classic members, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        shards: Shards,
        services: GroupServices,
        protocol: ClassicProtocol,
        in_consumer_group: ClassicInConsumer,
    ) -> None:
        self._shards = shards
        self._config = services.config
        self._protocol = protocol
        self._in_consumer_group = in_consumer_group

    def join_group(
        self, context: Context, request: JoinGroupRequest, *, briefly: bool = False
    ) -> Parked[JoinGroupResponse]:
        """Answered when all members have joined, or the rebalance timeout is over.

        `briefly`: raises TakesLong where it would take long.
        """
        parked = Parked[JoinGroupResponse]()
        try:
            self._join_group(context, request, parked.answer, briefly=briefly)
        except KafkaError as refused:
            known = refused.code is not ErrorCode.GROUP_MAX_SIZE_REACHED
            member_id = request.member_id if known else ""
            parked.answer(JoinGroupResponse(member_id=member_id, error_code=refused.code))
        return parked

    def _join_group(
        self,
        context: Context,
        request: JoinGroupRequest,
        answer: Callable[[JoinGroupResponse], None],
        *,
        briefly: bool,
    ) -> None:
        check_group_id(request.group_id)
        shortest = self._config.group_min_session_timeout_ms
        longest = self._config.group_max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        shard = self._shards.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            if briefly and self._in_consumer_group.takes_long(group, request):
                raise TakesLong
            answer(self._join_consumer_group(group, context, request))
            return
        if not isinstance(group, ClassicGroup):
            if group is not None and (group.group_type == "share" or not group.is_empty):
                answer(JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
                return
            if request.member_id:
                # The log keeps the empty group, as in Kafka's classicGroupJoinToClassicGroup.
                shard.groups.pop(request.group_id, None)
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            tombstones = () if group is None else group.tombstones()
            group = self._protocol.new_group(request.group_id, tombstones)
            shard.groups[request.group_id] = group
        self._protocol.join(group, context, request, answer)

    def _join_consumer_group(
        self, group: ConsumerGroup, context: Context, request: JoinGroupRequest
    ) -> JoinGroupResponse:
        try:
            return self._in_consumer_group.join(group, context, request)
        except KafkaError as refused:
            return _refused_in_consumer_group(refused)

    def join_in_steps(
        self, context: Context, request: JoinGroupRequest
    ) -> Generator[Callable[[], None], None, Parked[JoinGroupResponse]]:
        """`join_group` for one that takes long. A thread is to call the functions it yields."""
        return (
            yield from tried(
                lambda briefly: self.join_group(context, request, briefly=briefly),
                lambda: self._rehearsed(context, request),
            )
        )

    def _rehearsed(
        self, context: Context, request: JoinGroupRequest
    ) -> Generator[Callable[[], None], None, Parked[JoinGroupResponse] | None]:
        """Have a thread work out what a JoinGroup changes in a consumer group; None if the group is
        another by then."""
        shard = self._shards.find(request.group_id, context.node_id)
        group = None if shard is None else shard.groups.get(request.group_id)
        if shard is None or not isinstance(group, ConsumerGroup):
            return None
        rehearsal = self._in_consumer_group.rehearsal(group, context, request)
        yield rehearsal.run
        is_here = self._shards.find(request.group_id, context.node_id) is shard
        if (
            not is_here
            or shard.groups.get(request.group_id) is not group
            or not rehearsal.is_current
        ):
            return None
        parked = Parked[JoinGroupResponse]()
        try:
            parked.answer(self._in_consumer_group.carry_out(*rehearsal.taken_over()))
        except KafkaError as refused:
            parked.answer(_refused_in_consumer_group(refused))
        return parked

    def for_members(
        self, context: Context, request: SyncGroupRequestRow
    ) -> Generator[None, None, SyncGroupRequestRow]:
        """The request with the assignments of the group's members alone, looked at in steps.

        Members that join meanwhile begin a rebalance, in which no assignment counts.
        """
        shard = self._shards.find(request[0], context.node_id)
        group = None if shard is None else shard.groups.get(request[0])
        kept: list[SyncGroupRequestAssignmentRow] = []
        if isinstance(group, ClassicGroup):
            members, given = group.members, request[6]
            for start in range(0, len(given), _AT_ONCE):
                kept += [each for each in given[start : start + _AT_ONCE] if each[0] in members]
                yield
        return (*request[:6], kept)

    def sync_group(
        self, context: Context, request: SyncGroupRequestRow
    ) -> Parked[SyncGroupResponseRow]:
        """Answered when the leader has synced."""
        parked = Parked[SyncGroupResponseRow]()
        group_id = request[0]
        try:
            check_group_id(group_id)
            shard = self._shards.shard_of(group_id, context.node_id)
            group = shard.groups.get(group_id)
            if group is None or group.is_empty:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if isinstance(group, ClassicGroup):
                self._protocol.sync(group, request, parked.answer)
            elif isinstance(group, ConsumerGroup):
                parked.answer(self._in_consumer_group.sync(group, request))
            else:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        except KafkaError as refused:
            parked.answer(sync_refused(refused.code))
        return parked

    def heartbeat(self, context: Context, request: HeartbeatRequestRow) -> HeartbeatResponseRow:
        group_id, generation_id, member_id, instance_id = request
        try:
            check_group_id(group_id)
            shard = self._shards.shard_of(group_id, context.node_id)
            group = shard.groups.get(group_id)
            if group is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if isinstance(group, ClassicGroup):
                error_code = self._protocol.heartbeat(group, member_id, instance_id, generation_id)
            elif isinstance(group, ConsumerGroup):
                error_code = self._in_consumer_group.heartbeat(
                    group, member_id, instance_id, generation_id
                )
            else:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        except KafkaError as refused:
            # Kafka's coordinator says so blindly while it loads.
            is_loading = refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            error_code = ErrorCode.NONE if is_loading else refused.code
        return 0, error_code

    def leave_group(self, context: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Expects `members` to be filled in, also for the versions that name one member only."""
        try:
            check_group_id(request.group_id)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if group is None or not isinstance(group, ClassicGroup | ConsumerGroup):
                return LeaveGroupResponse(
                    members=[
                        MemberResponse(
                            member_id=member.member_id,
                            group_instance_id=member.group_instance_id,
                            error_code=ErrorCode.UNKNOWN_MEMBER_ID,
                        )
                        for member in request.members
                    ]
                )
            if isinstance(group, ConsumerGroup):
                left = self._in_consumer_group.leave(group, request.members)
            else:
                left = self._protocol.leave(group, request.members)
            return LeaveGroupResponse(members=left)
        except KafkaError as refused:
            return LeaveGroupResponse(error_code=refused.code)


def _refused_in_consumer_group(error: KafkaError) -> JoinGroupResponse:
    """Without the member's id, as Kafka."""
    return JoinGroupResponse(error_code=error.code)
