"""GroupCoordinator: the requests of consumer groups, answered.

Each group belongs to one partition of `__consumer_offsets`, and is coordinated where that partition
is led: on being elected the coordinator loads the partition into a `Shard`, on resigning it
forgets it. All decisions are plain functions of the shard (classic_protocol.py and its neighbours);
here requests are routed to them, parked until they are answered, and here time passes.

Every request method takes the caller's context and a wire message, and returns the response
message; refusals become error codes here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import trio

from kafkalite.clock import Clock
from kafkalite.group_coordinator.admin_api import GroupAdministration
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_in_consumer import ClassicInConsumer
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_checks import check_request, group_not_found
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH
from kafkalite.group_coordinator.consumer_protocol import Changes, ConsumerProtocol
from kafkalite.group_coordinator.interventions import Interventions
from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.group_coordinator.offset_api import OffsetRequests
from kafkalite.group_coordinator.offset_router import OffsetRouter
from kafkalite.group_coordinator.pending_response import Parked
from kafkalite.group_coordinator.protocol_change import ProtocolChange
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.state_log import OffsetLog, StateRecord
from kafkalite.group_coordinator.timers import Timer, Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.wire.messages.heartbeat import HeartbeatRequestRow, HeartbeatResponseRow
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_api import ShareGroupRequests
    from kafkalite.group_coordinator.share_protocol import ShareStateKeeper
    from kafkalite.group_coordinator.streams_api import StreamsGroupRequests


class GroupCoordinator(GroupAdministration):
    """All groups coordinated by this process, for each of its nodes.

    Sessions follow `clock`, and rebalances, which living members wait for, the time of trio.
    `configs_of(group_id)` returns what a group has configured for itself. `share_state` is called
    at the first need of the share coordinator.
    """

    def __init__(
        self,
        config: GroupConfig,
        log: OffsetLog,
        topics: TopicsView,
        *,
        clock: Clock,
        configs_of: Callable[[str], Mapping[str, str]] = lambda group_id: {},
        share_state: Callable[[], ShareStateKeeper] | None = None,
    ) -> None:
        self.config = config
        self.log = log
        self.topics = topics
        self.now_ms = now_ms = clock.now_ms
        self._clock = clock
        self._timers = Timers(clock.time, self._wake_earlier)
        self._phases = Timers(trio.current_time, self._wake_earlier)
        clock.subscribe(self._wake_earlier)
        self._nap: trio.CancelScope | None = None
        self._running = False
        self._leaders: dict[int, int | None] = {}
        self._shards: dict[int, Shard] = {}
        self._classic = ClassicProtocol(config, self._timers, self._phases, now_ms, self.save)
        self._overrides = GroupOverrides(config, configs_of)
        self._consumer = ConsumerProtocol(
            config, self._overrides, self._timers, topics, now_ms, self.save
        )
        self._share_state = share_state
        self._share: ShareGroupRequests | None = None
        self._streams: StreamsGroupRequests | None = None
        self._change = ProtocolChange(
            config, self._classic, topics, self.save, now_ms, self._replace
        )
        self._consumer.members_gone = self._change.downgrade
        self._classic_in_consumer = ClassicInConsumer(
            config, self._timers, topics, self._consumer, self._change.downgrade
        )
        self.offsets = OffsetRequests(config, log, topics, now_ms, self._classic)
        self.offset_router = OffsetRouter(self.offsets, topics, self.shard_of)
        self._sweep = Timer(self._expire_offsets)
        self.interventions = Interventions(
            self._shards, self._timers, self._classic, self._consumer
        )

    @property
    def share(self) -> ShareGroupRequests:
        """Share groups; imported at their first need."""
        if self._share is None:
            from kafkalite.group_coordinator.share_api import ShareGroupRequests
            from kafkalite.group_coordinator.share_protocol import ShareProtocol

            assert self._share_state is not None
            keeper = self._share_state()
            protocol = ShareProtocol(
                self.config,
                self._overrides,
                self._timers,
                self.topics,
                keeper,
                self.now_ms,
                self.save,
            )
            self._share = ShareGroupRequests(self, protocol, keeper)
        return self._share

    @property
    def streams(self) -> StreamsGroupRequests:
        """Streams groups; imported at their first need."""
        if self._streams is None:
            from kafkalite.group_coordinator.streams_api import StreamsGroupRequests
            from kafkalite.group_coordinator.streams_protocol import StreamsProtocol

            protocol = StreamsProtocol(
                self.config, self._overrides, self._timers, self.topics, self.now_ms, self.save
            )
            self._streams = StreamsGroupRequests(self, protocol)
        return self._streams

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load the groups, then let time pass: without this task, no timeout ever ends."""
        self._running = True
        self.leaders_changed()
        self._timers.set(self._sweep, self.config.offsets_retention_check_interval_ms / 1000)
        task_status.started()
        while True:
            self._timers.expire_due()
            self._phases.expire_due()
            with trio.CancelScope(deadline=self._next_time()) as self._nap:
                await trio.sleep_forever()

    def _next_time(self) -> float:
        """When to look next, by trio's clock."""
        return min(self._clock.trio_deadline(self._timers.next_time()), self._phases.next_time())

    def _wake_earlier(self) -> None:
        if self._nap is not None:
            self._nap.deadline = self._next_time()

    # Which groups are here

    def leaders_changed(self) -> None:
        """Somebody else may lead partitions of `__consumer_offsets`, or there are more of them."""
        if not self._running:
            return
        leaders = {p: self.log.leader_id(p) for p in range(self.log.partition_count)}
        for partition in self._leaders.keys() | leaders.keys():
            before, now = self._leaders.get(partition), leaders.get(partition)
            if before != now and before is not None:
                self.resigned(partition)
            if before != now and now is not None:
                self.elected(partition)
        self._leaders = leaders

    def elected(self, partition: int) -> None:
        """The partition of `__consumer_offsets` is led here now: load it.

        Members have not been able to reach anybody meanwhile, so their sessions begin anew.
        """
        shard = Shard(partition)
        shard.load(self.log.replay(partition), self.now_ms())
        self._shards[partition] = shard
        for group in shard.groups.values():
            if isinstance(group, ClassicGroup):
                self._classic.watch_phase(group)
                for member in group.members.values():
                    self._classic.watch(group, member)
                continue
            group.is_metadata_stale = True
            if isinstance(group, ConsumerGroup):
                self._consumer.watch(group)
            elif group.group_type == "share":
                self.share.protocol.watch(group)
            else:
                self.streams.protocol.watch(group)

    def resigned(self, partition: int) -> None:
        """The partition is led elsewhere, or gone: whoever waits is told to look for the new
        coordinator."""
        shard = self._shards.pop(partition, None)
        if shard is not None:
            for group in shard.groups.values():
                self.unload(group, ErrorCode.NOT_COORDINATOR)

    def unload(self, group: Group, error_code: ErrorCode) -> None:
        if isinstance(group, ClassicGroup):
            self._classic.unload(group, error_code)
        else:
            for timers in group.timers.values():
                timers.cancel()

    def _replace(self, group: Group) -> None:
        self._shards[self.partition_for(group.group_id)].groups[group.group_id] = group

    def topics_changed(self, names: Collection[str]) -> None:
        """Topics have come, grown or gone: groups that subscribe to them will be assigned anew."""
        for shard in self._shards.values():
            for group in shard.groups.values():
                if not isinstance(group, ClassicGroup) and group.depends_on(names):
                    group.is_metadata_stale = True

    def stop(self) -> None:
        """Send away whoever is parked, for good."""
        self._running = False
        for partition in list(self._shards):
            self.resigned(partition)

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group belongs to.

        Raises KafkaError(COORDINATOR_NOT_AVAILABLE) while that topic does not exist.
        """
        count = self.log.partition_count
        if not count:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return java_hash(group_id) % count

    def shard_of(self, group_id: str, node_id: int) -> Shard:
        """Where the group is, or KafkaError(NOT_COORDINATOR) if it is not this node's."""
        count = self.log.partition_count
        shard = self._shards.get(java_hash(group_id) % count) if count else None
        if shard is not None and self.log.leader_id(shard.partition) == node_id:
            return shard
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def shards_of(self, node_id: int) -> list[Shard]:
        return [s for s in self._shards.values() if self.log.leader_id(s.partition) == node_id]

    def save(self, group_id: str, records: Sequence[StateRecord]) -> None:
        """Write records of a group; KafkaError with the code that the group's members get.

        What could not be written must not stay: all there is of groups that are not classic is
        loaded anew.
        """
        partition = self.partition_for(group_id)
        try:
            self.log.append(partition, records)
        except KafkaError:
            group = self._shards[partition].groups.get(group_id)
            if group is not None and not isinstance(group, ClassicGroup):
                self.resigned(partition)
                self.elected(partition)
            raise

    # Membership

    async def join_group(self, context: Context, request: JoinGroupRequest) -> JoinGroupResponse:
        parked = Parked[JoinGroupResponse]()
        try:
            self._join_group(context, request, parked.answer)
        except KafkaError as refused:
            known = refused.code is not ErrorCode.GROUP_MAX_SIZE_REACHED
            return JoinGroupResponse(
                member_id=request.member_id if known else "", error_code=refused.code
            )
        return await parked.response()

    def _join_group(
        self,
        context: Context,
        request: JoinGroupRequest,
        answer: Callable[[JoinGroupResponse], None],
    ) -> None:
        check_group_id(request.group_id)
        shortest = self.config.group_min_session_timeout_ms
        longest = self.config.group_max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        shard = self.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            answer(self._join_consumer_group(group, context, request))
            return
        if not isinstance(group, ClassicGroup):
            if group is not None and (group.group_type == "share" or not group.is_empty):
                answer(JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
                return
            if request.member_id:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            tombstones = () if group is None else group.tombstones()
            group = self._classic.new_group(request.group_id, tombstones)
            shard.groups[request.group_id] = group
        self._classic.join(group, context, request, answer)

    def _join_consumer_group(
        self, group: ConsumerGroup, context: Context, request: JoinGroupRequest
    ) -> JoinGroupResponse:
        try:
            return self._classic_in_consumer.join(group, context, request)
        except KafkaError as refused:
            return JoinGroupResponse(error_code=refused.code)  # without the member's id, as Kafka

    async def sync_group(self, context: Context, request: SyncGroupRequest) -> SyncGroupResponse:
        parked = Parked[SyncGroupResponse]()
        try:
            check_group_id(request.group_id)
            shard = self.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if group is None or group.is_empty:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if isinstance(group, ConsumerGroup):
                return self._classic_in_consumer.sync(group, request)
            if not isinstance(group, ClassicGroup):
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            self._classic.sync(group, request, parked.answer)
        except KafkaError as refused:
            return SyncGroupResponse(error_code=refused.code)
        return await parked.response()

    def heartbeat(self, context: Context, request: HeartbeatRequestRow) -> HeartbeatResponseRow:
        group_id, generation_id, member_id, instance_id = request
        try:
            check_group_id(group_id)
            shard = self.shard_of(group_id, context.node_id)
            group = shard.groups.get(group_id)
            if group is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if isinstance(group, ConsumerGroup):
                error_code = self._classic_in_consumer.heartbeat(
                    group, member_id, instance_id, generation_id
                )
            elif isinstance(group, ClassicGroup):
                error_code = self._classic.heartbeat(group, member_id, instance_id, generation_id)
            else:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        except KafkaError as refused:
            error_code = refused.code
        return 0, error_code

    async def leave_group(self, context: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Expects `members` to be filled in, also for the versions that name one member only."""
        try:
            check_group_id(request.group_id)
            shard = self.shard_of(request.group_id, context.node_id)
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
                left = self._classic_in_consumer.leave(group, request.members)
            else:
                left = self._classic.leave(group, request.members)
            return LeaveGroupResponse(members=left)
        except KafkaError as refused:
            return LeaveGroupResponse(error_code=refused.code)

    def consumer_group_heartbeat(
        self, context: Context, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        try:
            self.check_consumer_protocol()
            check_request(request, context.api_version, self.config.group_consumer_assignors)
            shard = self.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if request.member_epoch >= JOIN_EPOCH:
                return self._consumer_group_heartbeat(shard, group, context, request)
            if not isinstance(group, ConsumerGroup):
                raise group_not_found(request.group_id, group)
            return self._consumer.leave(group, request)
        except KafkaError as refused:
            return ConsumerGroupHeartbeatResponse(
                error_code=refused.code, error_message=refused.message
            )

    def check_consumer_protocol(self) -> None:
        if "consumer" not in self.config.rebalance_protocols:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _consumer_group_heartbeat(
        self,
        shard: Shard,
        group: Group | None,
        context: Context,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse:
        if isinstance(group, ConsumerGroup):
            return self._consumer.heartbeat(Changes(group), context, request)
        if request.member_epoch != JOIN_EPOCH or not isinstance(group, ClassicGroup | None):
            raise group_not_found(request.group_id, group, "Consumer group")
        changes = (
            Changes(ConsumerGroup(request.group_id))
            if group is None
            else self._change.upgraded(group)
        )
        response = self._consumer.heartbeat(changes, context, request)
        shard.groups[request.group_id] = changes.group
        if group is not None:
            self._change.finish_upgrade(group)
            self._consumer.watch(changes.group)
        return response

    # Offsets

    def transaction_ended(self, partition: int, producer_id: int, *, committed: bool) -> None:
        """A marker has been written to a partition of `__consumer_offsets`."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.offsets.end_transaction(producer_id, committed=committed)

    async def offset_delete(
        self, context: Context, request: OffsetDeleteRequest
    ) -> OffsetDeleteResponse:
        try:
            check_group_id(request.group_id)
            shard = self.shard_of(request.group_id, context.node_id)
            return self.offsets.delete(shard, request)
        except KafkaError as refused:
            return OffsetDeleteResponse(error_code=refused.code)

    def topic_deleted(self, topic: str, topic_id: UUID) -> None:
        """Nobody needs the offsets of a topic that is gone."""
        for shard in self._shards.values():
            self.offsets.forget_topic(shard, topic, topic_id)
            for group in shard.groups.values():
                if group.group_type == "share":
                    self.share.protocol.topics_deleted(group, {topic_id})

    def _expire_offsets(self) -> None:
        self._timers.set(self._sweep, self.config.offsets_retention_check_interval_ms / 1000)
        for shard in self._shards.values():
            for group in self.offsets.expire(shard):
                self.unload(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
