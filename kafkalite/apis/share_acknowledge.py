"""ShareAcknowledge (key 79), versions 1-2: a member says what became of the records it acquired
(KIP-932).

- v2 can renew the time that the member may keep them (KIP-1222), and tells how long that is.
- Session epoch -1 ends the session; what the member still has is released then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.group_coordinator.heartbeat_checks import is_share_member_id
from kafkalite.replica.share.acknowledgement import RequestFailed
from kafkalite.replica.share.acknowledging import Outcomes, acknowledge_all
from kafkalite.replica.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey
from kafkalite.wire.error_messages import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse:
    try:
        member = member_of(services, request.group_id, request.member_id)
        partitions = services.share.partitions
        epoch = request.share_session_epoch
        if epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = partitions.sessions_of(context.node_id).existing(member, epoch)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    if epoch != FINAL_EPOCH:
        session.advance()
    try:
        outcomes = acknowledge_all(
            partitions,
            context.node_id,
            member,
            request.topics,
            api_version=context.api_version,
            is_renewal=request.is_renew_ack,
            may_read=context.may_read,
        )
    except RequestFailed as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    if epoch == FINAL_EPOCH:
        partitions.release_session(context.node_id, member)
    pending = services.share.pending(member.group_id, outcomes)
    outcomes = await services.share.stored(context, outcomes, pending)
    return _response(services, context, member.group_id, outcomes)


def member_of(services: Services, group_id: str | None, member_id: str | None) -> SessionKey:
    """The member that asks. Raises KafkaError: UNSUPPORTED_VERSION, INVALID_REQUEST."""
    if not services.serves_groups("share"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if group_id is None or member_id is None or not is_share_member_id(member_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return SessionKey(group_id, member_id)


def _response(
    services: Services, context: RequestContext, group_id: str, outcomes: Outcomes
) -> ShareAcknowledgeResponse:
    topics: dict[object, ShareAcknowledgeTopicResponse] = {}
    leaders: set[int] = set()
    for where, error in outcomes.items():
        answer = PartitionData(partition_index=where.partition)
        if error is not None:
            answer.error_code = error.code
            answer.error_message = error.message
        if error is not None and error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            topic = services.topics.by_id(where.topic_id)
            if topic is not None:
                answer.error_message = message_of(error)
                leader = topic.partitions[where.partition].current_leader(leaders)
                answer.current_leader = LeaderIdAndEpoch(*leader)
        answers = topics.setdefault(
            where.topic_id, ShareAcknowledgeTopicResponse(topic_id=where.topic_id)
        )
        answers.partitions.append(answer)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=services.share.settings.record_lock_duration_ms(group_id),
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(*node)
            for node in services.cluster.endpoints(leaders, context.listener_name)
        ],
    )
