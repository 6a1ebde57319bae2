"""ShareFetch (key 78), versions 1-2: a member of a share group acquires records (KIP-932).

- Acknowledgements of records acquired before may come along; they are done first. What they
  release comes back when there is nothing else, or with a later fetch.
- A session tells which partitions are meant: epoch 0 begins one, -1 ends it (share_sessions.py).
- When: at once if there are min_bytes to acquire, or all partitions have errors; else when records
  come in, or come back, to make them up, or after max_wait_ms.
- v2 has the acquire mode (KIP-1206: 1 is "no more records than asked for"), and renewals
  (KIP-1222): a request with one fetches nothing, since the records would wait for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.apis.share_acknowledge import member_of
from kafkalite.replica.fetch_reader import most_bytes
from kafkalite.replica.fetch_sessions import next_epoch
from kafkalite.replica.partition import LEADER_CHANGED
from kafkalite.replica.share.acknowledgement import RequestFailed, Settle, settle_all
from kafkalite.replica.share.acknowledging import RENEWALS_SINCE, Outcomes, acknowledge_all
from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.share_reader import Fetched, Limits, ShareReader
from kafkalite.replica.share.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionKey,
    ShareSession,
    TopicPartitionId,
)
from kafkalite.requests.disk_threads import read_off_loop
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

# share_acquire_mode
_BATCH_OPTIMIZED: Final = 0
_RECORD_LIMITED: Final = 1

_Answers = dict[TopicPartitionId, Fetched]


async def handle(
    services: Services, context: RequestContext, request: ShareFetchRequest
) -> ShareFetchResponse:
    try:
        member = member_of(services, request.group_id, request.member_id)
        is_renewal = context.api_version >= RENEWALS_SINCE and request.is_renew_ack
        if is_renewal and _asks_for_records(request):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        session = _session(services, context, member, request)
    except KafkaError as error:
        if error.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            # A client that cannot have a session asks again at once, so it is made to wait.
            await context.connection.move_to_task()
            await trio.sleep(max(0, request.max_wait_ms) / 1000)
        return ShareFetchResponse(error_code=error.code)
    outcomes: Outcomes = {}
    later: list[Settle] = []
    if _has_acknowledgements(request):
        try:
            outcomes = acknowledge_all(
                services.share.partitions,
                context.node_id,
                member,
                request.topics,
                api_version=context.api_version,
                is_renewal=is_renewal,
                may_read=context.may_read,
                later=later,
            )
        except RequestFailed as error:
            settle_all(later)
            return ShareFetchResponse(error_code=error.code)
    pending = services.share.pending(member.group_id, outcomes)
    answers: _Answers = {}
    try:
        if session is not None and not is_renewal:
            answers = await _fetch(services, context, session, request, later)
    except KafkaError as error:
        return ShareFetchResponse(error_code=error.code)
    finally:
        settle_all(later)
    if session is not None and not is_renewal and request.share_session_epoch != INITIAL_EPOCH:
        if session.epoch != next_epoch(request.share_session_epoch):
            return ShareFetchResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        answers = _told(session, answers)
    outcomes = await services.share.stored(context, outcomes, pending)
    if any(not services.share.partitions.is_topic(where.topic_id) for where in answers):
        # Apache Kafka counts bytes by the topic's name, and has none: what is said of the other
        # partitions is lost with it.
        return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    response = _response(services, context, member.group_id, answers, outcomes)
    if request.share_session_epoch == FINAL_EPOCH:
        services.share.partitions.release_session(context.node_id, member)
    return response


def _asks_for_records(request: ShareFetchRequest) -> bool:
    return bool(
        request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    )


def _has_acknowledgements(request: ShareFetchRequest) -> bool:
    return any(
        partition.acknowledgement_batches
        for topic in request.topics
        for partition in topic.partitions
    )


def _session(
    services: Services, context: RequestContext, member: SessionKey, request: ShareFetchRequest
) -> ShareSession | None:
    """The session as it is with this request; None if it ends. Raises KafkaError."""
    partitions = services.share.partitions
    sessions = partitions.sessions_of(context.node_id)
    asked = [
        (
            TopicPartitionId(topic.topic_id, each.partition_index),
            partitions.topic_name(topic.topic_id),
        )
        for topic in request.topics
        for each in topic.partitions
    ]
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        if _has_acknowledgements(request):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if len(dict(asked)) < len(asked):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        connection = context.connection
        if not sessions.knows(connection):
            node_id = context.node_id
            connection.when_closed(lambda: partitions.connection_closed(node_id, connection))
        return sessions.begin(member, connection, asked)
    session = sessions.existing(member, epoch)
    if epoch == FINAL_EPOCH:
        return None
    forgotten = [
        TopicPartitionId(topic.topic_id, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]
    session.update(asked, forgotten)
    session.advance()
    return session


async def _fetch(
    services: Services,
    context: RequestContext,
    session: ShareSession,
    request: ShareFetchRequest,
    later: list[Settle],
) -> _Answers:
    """The acknowledgements in `later` count before the fetch waits, and not before it looks.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) for an unknown acquire mode.
    """
    partitions = services.share.partitions
    answers: _Answers = {}
    wanted: list[TopicPartitionId] = []
    for where, known in session.partitions.items():
        if known.name is None:
            answers[where] = Fetched(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))
        elif context.may_read is not None and not context.may_read(known.name):
            answers[where] = Fetched(error=KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        elif not partitions.is_known(where):
            answers[where] = Fetched(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            wanted.append(where)
    if wanted and request.share_acquire_mode not in (_BATCH_OPTIMIZED, _RECORD_LIMITED):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # ShareAcquireMode.forId
    max_bytes = most_bytes(services.config, request.max_bytes)
    if not wanted or request.max_records == 0 or max_bytes == 0:
        return answers
    epoch = request.share_session_epoch
    if epoch >= 1:
        turn = epoch % len(wanted)
        wanted = wanted[turn:] + wanted[:turn]
    await services.share.fetch_states(context, session.key.group_id, wanted)
    made = partial(
        ShareReader,
        partitions,
        context.node_id,
        session.key.group_id,
        Wanted(
            session.key.member_id,
            request.max_records,
            request.batch_size,
            is_record_limited=request.share_acquire_mode == _RECORD_LIMITED,
        ),
        Limits(min(request.min_bytes, max_bytes), max_bytes),
        wanted,
    )
    # A share partition may begin at a time, which is looked for in the log.
    reader = await read_off_loop(made, context.connection.move_to_task)
    if not reader.has_only_errors and not (later and reader.has_enough()):
        settle_all(later)
        await context.connection.wait_until(
            reader.has_enough,
            reader.watched,
            context.received_at + max(0, request.max_wait_ms) / 1000,
            answer_early=False,
        )
    fetched = await read_off_loop(reader.read, context.connection.move_to_task)
    partitions.counts.asked += len(wanted)
    partitions.counts.acquired += sum(bool(each.acquired) for each in fetched.values())
    return answers | fetched


def _told(session: ShareSession, answers: _Answers) -> _Answers:
    """The answers that the client does not know yet."""
    return {
        where: fetched
        for where, fetched in answers.items()
        if session.must_tell(
            where, has_records=bool(fetched.records), has_error=fetched.error is not None
        )
    }


def _response(
    services: Services,
    context: RequestContext,
    group_id: str,
    answers: _Answers,
    outcomes: Outcomes,
) -> ShareFetchResponse:
    topics: dict[object, ShareFetchableTopicResponse] = {}
    leaders: set[int] = set()
    for where in [*answers, *(where for where in outcomes if where not in answers)]:
        answer = PartitionData(partition_index=where.partition, records=b"")
        fetched = answers.get(where)
        if fetched is not None:
            answer.records = fetched.records
            answer.acquired_records = [
                AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
                for first, last, count in fetched.acquired
            ]
            if fetched.error is not None:
                answer.error_code = fetched.error.code
                topic = services.topics.by_id(where.topic_id)
                if answer.error_code in LEADER_CHANGED and topic is not None:
                    leader = topic.partitions[where.partition].current_leader(leaders)
                    answer.current_leader = LeaderIdAndEpoch(*leader)
        error = outcomes.get(where)
        if error is not None:
            answer.acknowledge_error_code = error.code
            answer.acknowledge_error_message = error.message
        of_topic = topics.setdefault(
            where.topic_id, ShareFetchableTopicResponse(topic_id=where.topic_id)
        )
        of_topic.partitions.append(answer)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=services.share.settings.record_lock_duration_ms(group_id),
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(*node)
            for node in services.cluster.endpoints(leaders, context.listener_name)
        ],
    )
