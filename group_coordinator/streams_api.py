"""The requests about streams groups, answered (KIP-1071).

Imported when the first of them comes in, or when a streams group is read back.
"""

from __future__ import annotations

from functools import partial

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.modern_api import ModernRequests
from kafkalite.group_coordinator.modern_group import existing
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.streams_answers import described
from kafkalite.group_coordinator.streams_checks import check_request
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_protocol import Answered, StreamsProtocol
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.streams_group_describe import DescribedGroup
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


class StreamsGroupRequests(ModernRequests[StreamsProtocol, StreamsGroupHeartbeatRequest, Answered]):
    """Streams groups, for a coordinator that has the shards of groups.

    An answer has the internal topics to create along, unless nothing has changed.
    """

    def __init__(self, shards: Shards, protocol: StreamsProtocol) -> None:
        super().__init__(shards, protocol, StreamsGroup, StreamsGroupHeartbeatRequest)

    def _check(self, context: Context, request: StreamsGroupHeartbeatRequest) -> None:
        check_request(request)

    def _refused(self, error: KafkaError) -> Answered:
        response = StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
        return Answered(response, {})

    def _heartbeat(self, context: Context, request: StreamsGroupHeartbeatRequest) -> Answered:
        shard = self._shards.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            found = existing(StreamsGroup, request.group_id, group)
            return Answered(self.protocol.leave(found, request), {})
        is_joining = request.member_epoch == JOIN_EPOCH
        is_new = is_joining and (
            group is None or (isinstance(group, ClassicGroup) and group.is_empty)
        )
        if not is_new:
            found = existing(StreamsGroup, request.group_id, group, "Streams group")
            changes, configured = self.protocol.changes(found), found.configured
            end_offset = self._shards.end_offset(request.group_id)
            answered = self.protocol.heartbeat(changes, context, request, is_new=False)
            if found.configured is not configured:
                found.configured_at = end_offset
            return answered
        changes = Changes(
            StreamsGroup(request.group_id), *(() if group is None else group.tombstones())
        )
        answered = self.protocol.heartbeat(changes, context, request, is_new=True)
        if group is None:  # Kafka tells it where the group's id was known, a classic group's, too
            answered.response.endpoint_information_epoch = 0
        shard.groups[request.group_id] = changes.group
        self.protocol.watch(changes.group)
        return answered

    def describe(self, context: Context, group_id: str) -> DescribedGroup:
        def describe() -> DescribedGroup:
            check_group_id(group_id)
            group = self._shards.seen(group_id, context.node_id)
            found = existing(StreamsGroup, group_id, group)
            # A description has it with the next record of the partition, as in Kafka.
            is_seen = self._shards.end_offset(group_id) > found.configured_at
            return described(found, found.configured if is_seen else None)

        refused = partial(DescribedGroup, topology=None)
        return admin.described_or_refused(group_id, describe, refused)
