"""ShareAcknowledge (key 79), versions 1-2: a member says what became of the records it acquired
(KIP-932).

- v2 can renew the time that the member may keep them (KIP-1222), and tells how long that is.
- Session epoch -1 ends the session; what the member still has is released then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkalite.group_coordinator.heartbeat_checks import is_share_member_id
from kafkalite.replica.share.acknowledgement import RequestFailed
from kafkalite.replica.share.acknowledging import Outcomes, Saying, acknowledging
from kafkalite.replica.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey
from kafkalite.requests.slices import Steps, batches, few_or_in_slices
from kafkalite.wire.error_messages import words_of
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


# An acknowledgement, or a partition that is read, takes some 50 microseconds.
MOST_AT_ONCE: Final = 64
# A record takes some 5, if each is acknowledged on its own.
_MOST_RECORDS: Final = 512


async def handle(
    services: Services, context: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse:
    try:
        member = member_of(request.group_id, request.member_id)
        partitions = services.share.partitions
        epoch = request.share_session_epoch
        if epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = partitions.sessions_of(context.node_id).existing(member, epoch)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    if epoch != FINAL_EPOCH:
        session.advance()
    is_long = are_many(request.topics) or say_much(request.topics)
    unstored = services.share.unstored(member.group_id)
    saying = Saying(
        context.node_id,
        member,
        context.api_version,
        request.is_renew_ack,
        context.may_read,
        done=unstored.note,
    )
    try:
        steps = acknowledging(partitions, saying, request.topics)
        outcomes: Outcomes = await few_or_in_slices(steps, context, is_long=is_long)
    except RequestFailed as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    if epoch == FINAL_EPOCH:
        await few_or_in_slices(
            partitions.ended.ending(context.node_id, session),
            context,
            is_long=len(session.partitions) > MOST_AT_ONCE,
        )
    outcomes = await unstored.stored(context, outcomes)
    building = _response(services, context, member.group_id, outcomes)
    return await few_or_in_slices(building, context, is_long=is_long)


def are_many(topics: Sequence[Any]) -> bool:
    """True if there are more partitions in these topics than are handled at once."""
    return len(topics) > MOST_AT_ONCE or (
        sum(len(topic.partitions) for topic in topics) > MOST_AT_ONCE
    )


def say_much(topics: Sequence[Any]) -> bool:
    """True if more records are acknowledged than is done at once."""
    count = 0
    for topic in topics:
        for partition in topic.partitions:
            for batch in partition.acknowledgement_batches:
                count += max(1, batch.last_offset - batch.first_offset + 1)
                if count > _MOST_RECORDS:
                    return True
    return False


def member_of(group_id: str | None, member_id: str | None) -> SessionKey:
    """The member that asks. Raises KafkaError(INVALID_REQUEST)."""
    if group_id is None or member_id is None or not is_share_member_id(member_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return SessionKey(group_id, member_id)


def _response(
    services: Services, context: RequestContext, group_id: str, outcomes: Outcomes
) -> Steps[ShareAcknowledgeResponse]:
    topics: dict[object, ShareAcknowledgeTopicResponse] = {}
    leaders: set[int] = set()
    for some in batches(outcomes.items()):
        for where, error in some:
            answer = PartitionData(partition_index=where.partition)
            if error is not None:
                answer.error_code = error.code
                answer.error_message = error.message
            if error is not None and error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                topic = services.topics.by_id(where.topic_id)
                if topic is not None:
                    answer.error_message = words_of(error)
                    leader = topic.partitions[where.partition].current_leader(leaders)
                    answer.current_leader = LeaderIdAndEpoch(*leader)
            answers = topics.get(where.topic_id)
            if answers is None:
                answers = ShareAcknowledgeTopicResponse(topic_id=where.topic_id)
                topics[where.topic_id] = answers
            answers.partitions.append(answer)
        yield
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=services.share.settings.record_lock_duration_ms(group_id),
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(*node)
            for node in services.cluster.endpoints(leaders, context.listener_name)
        ],
    )
