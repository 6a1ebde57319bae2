"""The requests about streams groups, answered (KIP-1071).

Imported when the first of them comes in, or when a streams group is read back.
"""

from __future__ import annotations

from functools import partial

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_group import ClassicGroup
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
    StreamsGroupHeartbeatRequestRow,
    StreamsGroupHeartbeatResponse,
)
from kafkalite.wire.rows import SharedResponse, message_of_row


class StreamsGroupRequests:
    """Streams groups, for a coordinator that has the shards of groups."""

    def __init__(self, shards: Shards, protocol: StreamsProtocol) -> None:
        self._shards = shards
        self.protocol = protocol

    def heartbeat(
        self,
        context: Context,
        row: StreamsGroupHeartbeatRequestRow,
        message: StreamsGroupHeartbeatRequest | None = None,
    ) -> SharedResponse | Answered:
        """The answer; with the internal topics to create, unless nothing has changed.

        `message` is the same as the row, if it was made already.
        """
        shard = self._shards.find(row[0], context.node_id)
        group = None if shard is None else shard.groups.get(row[0])
        again: SharedResponse | None
        if isinstance(group, StreamsGroup):
            again = self.protocol.answer_again(group, context, row)
            if again is not None:
                return again
        request: StreamsGroupHeartbeatRequest
        request = message or message_of_row(StreamsGroupHeartbeatRequest, row)
        try:
            check_request(request)
            if isinstance(group, StreamsGroup):
                again = self.protocol.steady(group, context, request, row)
                if again is not None:
                    return again
            return self._heartbeat(context, request)
        except KafkaError as refused:
            response = StreamsGroupHeartbeatResponse(
                error_code=refused.code,
                error_message=refused.message,
                active_tasks=None,
                standby_tasks=None,
                warmup_tasks=None,
                partitions_by_user_endpoint=None,
            )
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
            changes = self.protocol.changes(found)
            return self.protocol.heartbeat(changes, context, request, is_new=False)
        changes = Changes(
            StreamsGroup(request.group_id), *(() if group is None else group.tombstones())
        )
        answered = self.protocol.heartbeat(changes, context, request, is_new=True)
        shard.groups[request.group_id] = changes.group
        self.protocol.watch(changes.group)
        return answered

    def describe(self, context: Context, group_id: str) -> DescribedGroup:
        def describe() -> DescribedGroup:
            check_group_id(group_id)
            group = self._shards.seen(group_id, context.node_id)
            return described(existing(StreamsGroup, group_id, group))

        refused = partial(DescribedGroup, topology=None)
        return admin.described_or_refused(group_id, describe, refused)
