"""The requests about share groups, answered: membership and description (KIP-932).

Imported when the first of them comes in, or when a share group is read back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH, LEAVE_EPOCH
from kafkalite.group_coordinator.heartbeat_checks import invalid, refuse_blank
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.share_group import ShareGroup, existing
from kafkalite.group_coordinator.share_offsets import ShareGroupOffsets
from kafkalite.group_coordinator.share_protocol import ShareProtocol
from kafkalite.group_coordinator.share_states import ShareStates
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.error_messages import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import share_group_describe
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

ASSIGNOR: Final = "simple"
LONGEST_MEMBER_ID: Final = 36


class ShareGroupRequests:
    """Share groups, for a coordinator that has the shards of groups."""

    def __init__(
        self, shards: Shards, topics: TopicsView, protocol: ShareProtocol, states: ShareStates
    ) -> None:
        self._shards = shards
        self._topics = topics
        self.protocol = protocol
        self.states = states
        self.offsets = ShareGroupOffsets(shards, topics, states)

    # Membership

    def heartbeat(
        self, context: Context, request: ShareGroupHeartbeatRequest
    ) -> ShareGroupHeartbeatResponse:
        if not 0 < len(request.member_id) <= LONGEST_MEMBER_ID:
            return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
        try:
            _check_heartbeat(request)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if request.member_epoch == LEAVE_EPOCH:
                return self.protocol.leave(existing(request.group_id, group), request)
            if group is None and request.member_epoch == JOIN_EPOCH:
                made = ShareGroup(request.group_id)

                def keep() -> None:
                    # Before partitions are initialized: should the outcome not be written, the
                    # group is loaded anew, as any other.
                    shard.groups[request.group_id] = made

                return self.protocol.heartbeat(made, context, request, keep)
            if group is None:
                raise KafkaError(
                    ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {request.group_id} not found."
                )
            share_group = existing(request.group_id, group)
            return self.protocol.heartbeat(share_group, context, request)
        except KafkaError as refused:
            return ShareGroupHeartbeatResponse(
                error_code=refused.code, error_message=message_of(refused)
            )

    # Administration

    def describe(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[share_group_describe.DescribedGroup]:
        described: list[share_group_describe.DescribedGroup] = []
        for group_id in group_ids:
            try:
                check_group_id(group_id)
                shard = self._shards.shard_of(group_id, context.node_id)
                group = existing(group_id, shard.groups.get(group_id))
                described.append(self._described(group))
            except KafkaError as refused:
                described.append(
                    share_group_describe.DescribedGroup(
                        group_id=group_id,
                        error_code=refused.code,
                        error_message=refused.message,
                    )
                )
        return described

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
                        topic_partitions=[
                            share_group_describe.TopicPartitions(
                                topic_id=topic_id, topic_name=name, partitions=sorted(partitions)
                            )
                            for topic_id, partitions in member.assigned.items()
                            if (name := self._topics.topic_name(topic_id)) is not None
                        ]
                    ),
                )
                for member in group.members.values()
            ],
        )


def _check_heartbeat(request: ShareGroupHeartbeatRequest) -> None:
    """KafkaError for what no group could accept."""
    refuse_blank(
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.rack_id, "RackId"),
    )
    if request.member_epoch == JOIN_EPOCH:
        if not request.subscribed_topic_names:
            raise invalid("SubscribedTopicNames must be set in first request.")
    elif request.member_epoch < LEAVE_EPOCH:
        raise invalid("MemberEpoch is invalid.")
