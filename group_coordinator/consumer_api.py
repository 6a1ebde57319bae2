"""The requests about groups of the consumer protocol, answered (KIP-848).

Refusals become error codes here. The rules are in consumer_protocol.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.consumer_checks import check_request, group_not_found
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.protocol_change import ProtocolChange
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import consumer_group_describe
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


class ConsumerGroupRequests:
    """Consumer groups, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        shards: Shards,
        config: GroupConfig,
        topics: TopicsView,
        protocol: ConsumerProtocol,
        change: ProtocolChange,
    ) -> None:
        self._shards = shards
        self._config = config
        self._topics = topics
        self._protocol = protocol
        self._change = change

    def heartbeat(
        self, context: Context, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        try:
            self._check_enabled()
            check_request(request, context.api_version, self._config.group_consumer_assignors)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if request.member_epoch >= JOIN_EPOCH:
                return self._heartbeat(shard, group, context, request)
            if not isinstance(group, ConsumerGroup):
                raise group_not_found(request.group_id, group)
            return self._protocol.leave(group, request)
        except KafkaError as refused:
            return ConsumerGroupHeartbeatResponse(
                error_code=refused.code, error_message=refused.message
            )

    def _heartbeat(
        self,
        shard: Shard,
        group: Group | None,
        context: Context,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse:
        if isinstance(group, ConsumerGroup):
            return self._protocol.heartbeat(Changes(group), context, request)
        if request.member_epoch != JOIN_EPOCH or not isinstance(group, ClassicGroup | None):
            raise group_not_found(request.group_id, group, "Consumer group")
        changes = (
            Changes(ConsumerGroup(request.group_id))
            if group is None
            else self._change.upgraded(group)
        )
        response = self._protocol.heartbeat(changes, context, request)
        shard.groups[request.group_id] = changes.group
        if group is not None:
            self._change.finish_upgrade(group)
            self._protocol.watch(changes.group)
        return response

    def describe(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[consumer_group_describe.DescribedGroup]:
        described: list[consumer_group_describe.DescribedGroup] = []
        for group_id in group_ids:
            try:
                self._check_enabled()
                check_group_id(group_id)
                group = self._shards.seen(group_id, context.node_id)
                default = self._config.group_consumer_assignors[0]
                described.append(admin.describe_consumer(group_id, group, self._topics, default))
            except KafkaError as refused:
                described.append(
                    consumer_group_describe.DescribedGroup(
                        group_id=group_id, error_code=refused.code
                    )
                )
        return described

    def _check_enabled(self) -> None:
        if "consumer" not in self._config.rebalance_protocols:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
