"""The requests about groups of the consumer protocol, answered (KIP-848).

Refusals become error codes here. The rules are in consumer_protocol.py.
"""

from __future__ import annotations

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.consumer_checks import check_request
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.heartbeat_checks import group_not_found
from kafkalite.group_coordinator.modern_group import existing
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH
from kafkalite.group_coordinator.protocol_change import ProtocolChange
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_describe import DescribedGroup
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestRow,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import SharedResponse, message_of_row, rows_of


class ConsumerGroupRequests:
    """Consumer groups, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        shards: Shards,
        services: GroupServices,
        protocol: ConsumerProtocol,
        change: ProtocolChange,
    ) -> None:
        self._shards = shards
        self._config = services.config
        self._topics = services.topics
        self._protocol = protocol
        self._change = change

    def heartbeat(
        self,
        context: Context,
        row: ConsumerGroupHeartbeatRequestRow,
        message: ConsumerGroupHeartbeatRequest | None = None,
    ) -> SharedResponse | ConsumerGroupHeartbeatResponseRow:
        """Answer a heartbeat. `message` is the same as the row, if it was made already."""
        shard = self._shards.find(row[0], context.node_id)
        group = None if shard is None else shard.groups.get(row[0])
        if isinstance(group, ConsumerGroup):
            again = self._protocol.answer_again(group, context, row)
            if again is not None:
                return again
        request: ConsumerGroupHeartbeatRequest
        request = message or message_of_row(ConsumerGroupHeartbeatRequest, row)
        try:
            self._check_enabled()
            check_request(request, context.api_version, self._config.group_consumer_assignors)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            if isinstance(group, ConsumerGroup):
                steady = self._protocol.steady(group, context, request, row)
                if steady is not None:
                    return steady
            if request.member_epoch >= JOIN_EPOCH:
                response = self._heartbeat(shard, group, context, request)
            else:
                found = existing(ConsumerGroup, request.group_id, group)
                response = self._protocol.leave(found, request)
        except KafkaError as refused:
            response = ConsumerGroupHeartbeatResponse(
                error_code=refused.code, error_message=refused.message
            )
        answer: ConsumerGroupHeartbeatResponseRow = rows_of(response)
        return answer

    def _heartbeat(
        self,
        shard: Shard,
        group: Group | None,
        context: Context,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse:
        if isinstance(group, ConsumerGroup):
            return self._protocol.heartbeat(self._protocol.changes(group), context, request)
        if request.member_epoch != JOIN_EPOCH or not isinstance(group, ClassicGroup | None):
            raise group_not_found("consumer", request.group_id, group, "Consumer group")
        changes = (
            self._protocol.changes(ConsumerGroup(request.group_id))
            if group is None
            else self._change.upgraded(group)
        )
        response = self._protocol.heartbeat(changes, context, request)
        shard.groups[request.group_id] = changes.group
        if group is not None:
            self._change.finish_upgrade(group)
            self._protocol.watch(changes.group)
        return response

    def describe(self, context: Context, group_id: str) -> DescribedGroup:
        def describe() -> DescribedGroup:
            self._check_enabled()
            check_group_id(group_id)
            group = self._shards.seen(group_id, context.node_id)
            default = self._config.group_consumer_assignors[0]
            known = existing(ConsumerGroup, group_id, group)
            return admin.describe_consumer(known, self._topics, default)

        return admin.described_or_refused(group_id, describe, DescribedGroup)

    def _check_enabled(self) -> None:
        if "consumer" not in self._config.rebalance_protocols:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
