"""Checks of a ConsumerGroupHeartbeat (Kafka's throwIf...)."""

from collections.abc import Sequence
from typing import Final

from kafkalite.group_coordinator.heartbeat_checks import refuse_blank
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

CLIENT_MADE_MEMBER_ID_SINCE: Final = 1  # ConsumerGroupHeartbeat


def check_request(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> None:
    """KafkaError for what no group could accept."""
    epoch = request.member_epoch
    if api_version >= CLIENT_MADE_MEMBER_ID_SINCE or epoch > 0 or epoch == LEAVE_EPOCH:
        refuse_blank((request.member_id, "MemberId"))
    refuse_blank(
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    )
    if epoch == JOIN_EPOCH:
        if request.rebalance_timeout_ms == -1:
            raise invalid_request("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise invalid_request("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise invalid_request(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null "
                "when (re-)joining."
            )
    elif epoch == STATIC_LEAVE_EPOCH:
        if request.instance_id is None:
            raise invalid_request("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise invalid_request("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        # Kafka tells them in the order of a hash table: uniform, range.
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(sorted(assignors, reverse=True))}.",
        )
