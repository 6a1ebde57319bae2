"""The requests about share groups, answered: membership and description (KIP-932).

Imported when the first of them comes in, or when a share group is read back.
"""

from __future__ import annotations

from typing import Final

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.heartbeat_checks import is_share_member_id, refuse_blank
from kafkalite.group_coordinator.large_groups import LargeGroupRequests
from kafkalite.group_coordinator.modern_group import existing
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, LEAVE_EPOCH
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.share_offsets import ShareGroupOffsets
from kafkalite.group_coordinator.share_protocol import ShareProtocol
from kafkalite.group_coordinator.share_states import ShareStates
from kafkalite.wire.error_messages import words_of
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request
from kafkalite.wire.messages import share_group_describe
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import rows_of

ASSIGNOR: Final = "simple"


class ShareGroupRequests(
    LargeGroupRequests[ShareProtocol, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponseRow]
):
    """Share groups, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        shards: Shards,
        services: GroupServices,
        protocol: ShareProtocol,
        states: ShareStates,
    ) -> None:
        super().__init__(shards, services, protocol, ShareGroup, ShareGroupHeartbeatRequest)
        self._topics = services.topics
        self.states = states
        self.offsets = ShareGroupOffsets(shards, services.topics, states)

    # Membership

    def _check(self, context: Context, request: ShareGroupHeartbeatRequest) -> None:
        if not is_share_member_id(request.member_id):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        refuse_blank(
            (request.member_id, "MemberId"),
            (request.group_id, "GroupId"),
            (request.rack_id, "RackId"),
        )
        if request.member_epoch == JOIN_EPOCH:
            if not request.subscribed_topic_names:
                raise invalid_request("SubscribedTopicNames must be set in first request.")
        elif request.member_epoch < LEAVE_EPOCH:
            raise invalid_request("MemberEpoch is invalid.")

    def _heartbeat(
        self, context: Context, request: ShareGroupHeartbeatRequest
    ) -> ShareGroupHeartbeatResponseRow:
        shard = self._shards.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if request.member_epoch == LEAVE_EPOCH:
            left = self.protocol.leave(existing(ShareGroup, request.group_id, group), request)
            answer: ShareGroupHeartbeatResponseRow = rows_of(left)
            return answer
        if group is None and request.member_epoch == JOIN_EPOCH:
            made = ShareGroup(request.group_id)

            def keep() -> None:
                # Before partitions are initialized: should the outcome not be written, the
                # group is loaded anew, as any other.
                shard.groups[request.group_id] = made

            return self.protocol.heartbeat(self.protocol.changes(made), context, request, keep)
        found = existing(ShareGroup, request.group_id, group, "Share group")
        return self.protocol.heartbeat(self.protocol.changes(found), context, request)

    # Administration

    def describe(self, context: Context, group_id: str) -> share_group_describe.DescribedGroup:
        def describe() -> share_group_describe.DescribedGroup:
            check_group_id(group_id)
            try:
                group = self._shards.seen(group_id, context.node_id)
            except KafkaError as refused:
                # With words, which other groups' descriptions lack (ShareGroupDescribeRequest).
                raise KafkaError(refused.code, words_of(refused)) from refused
            return self._described(existing(ShareGroup, group_id, group))

        refused = share_group_describe.DescribedGroup
        return admin.described_or_refused(group_id, describe, refused)

    def _described(self, group: ShareGroup) -> share_group_describe.DescribedGroup:
        return share_group_describe.DescribedGroup(
            group_id=group.group_id,
            group_state=group.state.value,
            group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=ASSIGNOR,
            members=[
                share_group_describe.Member(
                    member_id=member.member_id,
                    rack_id=member.rack_id,
                    member_epoch=member.member_epoch,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    subscribed_topic_names=sorted(member.subscribed_topic_names),
                    assignment=share_group_describe.Assignment(
                        topic_partitions=admin.listed_with_names(
                            share_group_describe.TopicPartitions, member.assigned, self._topics
                        )
                    ),
                )
                for member in group.members.values()
            ],
        )
