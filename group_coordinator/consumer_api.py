"""The requests about groups of the consumer protocol, answered (KIP-848).

Refusals become error codes here. The rules are in consumer_protocol.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from kafkalite.group_coordinator import admin, large_groups
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.consumer_checks import check_request
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.heartbeat_checks import group_not_found
from kafkalite.group_coordinator.large_groups import (
    PER_MEMBER,
    LargeGroupRequests,
    has_many_members,
)
from kafkalite.group_coordinator.modern_group import existing
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH
from kafkalite.group_coordinator.protocol_change import ProtocolChange, Upgrade
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.wire.messages.consumer_group_describe import DescribedGroup
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import rows_of


class ConsumerGroupRequests(
    LargeGroupRequests[
        ConsumerProtocol, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponseRow
    ]
):
    """Consumer groups, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        shards: Shards,
        services: GroupServices,
        protocol: ConsumerProtocol,
        change: ProtocolChange,
    ) -> None:
        super().__init__(shards, services, protocol, ConsumerGroup, ConsumerGroupHeartbeatRequest)
        self._config = services.config
        self._topics = services.topics
        self._change = change

    def stale_expressions(self, group_id: str, node_id: int) -> Collection[str]:
        """The regular expressions of a group's members, if topics have changed meanwhile."""
        shard = self._shards.find(group_id, node_id)
        group = None if shard is None else shard.groups.get(group_id)
        if isinstance(group, ConsumerGroup) and group.is_metadata_stale:
            return group.used_expressions
        return ()

    def _check(self, context: Context, request: ConsumerGroupHeartbeatRequest) -> None:
        check_request(request, context.api_version, self._config.group_consumer_assignors)

    def _topics_in(self, request: ConsumerGroupHeartbeatRequest) -> Iterable[str]:
        if request.subscribed_topic_regex:
            return self._topics.names()
        return super()._topics_in(request)

    def _prepare(self, request: ConsumerGroupHeartbeatRequest) -> None:
        request.member_id = request.member_id or self.protocol.new_member_id()

    def _heartbeat(
        self, context: Context, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponseRow:
        shard = self._shards.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if request.member_epoch >= JOIN_EPOCH:
            return self._taken_in(shard, group, context, request)
        found = existing(ConsumerGroup, request.group_id, group)
        answer: ConsumerGroupHeartbeatResponseRow = rows_of(self.protocol.leave(found, request))
        return answer

    def _taken_in(
        self,
        shard: Shard,
        group: Group | None,
        context: Context,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponseRow:
        if isinstance(group, ConsumerGroup):
            return self.protocol.heartbeat(self.protocol.changes(group), context, request)
        if request.member_epoch != JOIN_EPOCH or not isinstance(group, ClassicGroup | None):
            raise group_not_found("consumer", request.group_id, group, "Consumer group")
        changes = self.protocol.changes(ConsumerGroup(request.group_id))
        if group is not None:
            self._change.upgrade(group).decide(changes)
        keep = partial(self._keep, shard, changes.group, group)
        return self.protocol.heartbeat(changes, context, request, keep)

    def _takes_long(self, group: Group | None, request: ConsumerGroupHeartbeatRequest) -> bool:
        if isinstance(group, ClassicGroup):
            if request.member_epoch != JOIN_EPOCH:
                return False
            if self._is_large(group):
                return True
            group = None
        return super()._takes_long(group, request)

    def _is_large(self, group: ClassicGroup) -> bool:
        size = len(group.members) * PER_MEMBER
        return size > large_groups.LARGE or self._are_many(group.subscribed_topics or ())

    def _conversion(self, group: Group | None) -> Upgrade | None:
        return self._change.upgrade(group) if isinstance(group, ClassicGroup) else None

    def _keep(self, shard: Shard, group: ConsumerGroup, before: Group | None) -> None:
        super()._keep(shard, group, before)
        if isinstance(before, ClassicGroup):
            self._change.finish_upgrade(before)
            self.protocol.watch(group)

    def describe(
        self, context: Context, group_id: str
    ) -> DescribedGroup | Callable[[], DescribedGroup]:
        """A group; of a large one, the function that describes it in a thread."""

        def describe() -> DescribedGroup | Callable[[], DescribedGroup]:
            check_group_id(group_id)
            group = self._shards.seen(group_id, context.node_id)
            default = self._config.group_consumer_assignors[0]
            known = existing(ConsumerGroup, group_id, group)
            if has_many_members(known) or self._are_many(known.subscribed_topics):
                return partial(admin.describe_consumer, known.copy(), self._topics, default)
            return admin.describe_consumer(known, self._topics, default)

        return admin.described_or_refused(group_id, describe, DescribedGroup)
