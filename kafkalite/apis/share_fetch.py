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

from collections import deque
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from kafkalite.apis.share_acknowledge import MOST_AT_ONCE, are_many, member_of, say_much
from kafkalite.replica.fetch_reader import most_bytes
from kafkalite.replica.fetch_sessions import next_epoch
from kafkalite.replica.partition import LEADER_CHANGED
from kafkalite.replica.share.acknowledgement import Settle, settle_all, settling
from kafkalite.replica.share.acknowledging import (
    RENEWALS_SINCE,
    Outcomes,
    Saying,
    acknowledging,
)
from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.share_reader import Fetched, Limits, ShareReader
from kafkalite.replica.share.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionKey,
    SessionPartition,
    ShareSession,
    TopicPartitionId,
)
from kafkalite.requests.long_waits import wait_in_slices
from kafkalite.requests.slices import (
    AT_ONCE,
    Steps,
    WaitingSteps,
    at_once,
    batches,
    cut,
    few_or_in_slices,
    release_dict,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.share_fetch import (
    AcquiredRecords,
    FetchTopic,
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

T = TypeVar("T")
_Answers = dict[TopicPartitionId, Fetched]


async def handle(
    services: Services, context: RequestContext, request: ShareFetchRequest
) -> ShareFetchResponse:
    forgotten = request.forgotten_topics_data
    is_long = are_many(request.topics) or bool(forgotten and are_many(forgotten))
    is_long = is_long or say_much(request.topics)
    try:
        member = member_of(request.group_id, request.member_id)
        is_renewal = context.api_version >= RENEWALS_SINCE and request.is_renew_ack
        if is_renewal and _asks_for_records(request):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        beginning = _session(services, context, member, request)
        session = await few_or_in_slices(beginning, context, is_long=is_long)
    except KafkaError as error:
        if error.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            # A client that cannot have a session asks again at once, so it is made to wait.
            await context.connection.move_to_task()
            await trio.sleep(max(0, request.max_wait_ms) / 1000)
        return ShareFetchResponse(error_code=error.code)
    is_long = is_long or len(session.partitions) > MOST_AT_ONCE
    asked = _ShareFetch(services, context, request, session, is_long=is_long)
    try:
        return await asked.answer(is_renewal=is_renewal)
    except KafkaError as error:
        await asked.settle()
        return ShareFetchResponse(error_code=error.code)
    finally:
        settle_all(asked.later)  # where a task was cancelled


def _asks_for_records(request: ShareFetchRequest) -> bool:
    return bool(
        request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    )


def _has_acknowledgements(topics: Sequence[FetchTopic]) -> Steps[bool]:
    for topic in topics:
        for some in batches(topic.partitions):
            if any(partition.acknowledgement_batches for partition in some):
                return True
            yield
    return False


def _session(
    services: Services, context: RequestContext, member: SessionKey, request: ShareFetchRequest
) -> Steps[ShareSession]:
    """The session as it is with this request. Raises KafkaError."""
    partitions = services.share.partitions
    sessions = partitions.sessions_of(context.node_id)
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        return (yield from _new_session(services, context, member, request))
    session = sessions.existing(member, epoch)
    if epoch == FINAL_EPOCH:
        return session
    session.advance()
    for topic in request.topics:
        name = partitions.topic_name(topic.topic_id)
        for some in batches(topic.partitions):
            for each in some:
                session.add(TopicPartitionId(topic.topic_id, each.partition_index), name)
            yield
    for forgotten in request.forgotten_topics_data:
        for indexes in batches(forgotten.partitions):
            for index in indexes:
                session.forget(TopicPartitionId(forgotten.topic_id, index))
            yield
    return session


def _new_session(
    services: Services, context: RequestContext, member: SessionKey, request: ShareFetchRequest
) -> Steps[ShareSession]:
    if (yield from _has_acknowledgements(request.topics)):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    partitions = services.share.partitions
    asked: dict[TopicPartitionId, SessionPartition] = {}
    count = 0
    for topic in request.topics:
        name = partitions.topic_name(topic.topic_id)
        for some in batches(topic.partitions):
            for each in some:
                where = TopicPartitionId(topic.topic_id, each.partition_index)
                asked[where] = SessionPartition(name, must_answer=False)
            count += len(some)
            yield
    if len(asked) < count:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    node_id, connection = context.node_id, context.connection
    yield from partitions.ended.finishing(node_id, member)
    sessions = partitions.sessions_of(node_id)
    if not sessions.knows(connection):
        connection.when_closed(lambda: partitions.ended.connection_closed(node_id, connection))
    return sessions.begin(member, connection, asked)


class _ShareFetch:
    """One request in its session; others have their turns in between if it is a long one."""

    def __init__(
        self,
        services: Services,
        context: RequestContext,
        request: ShareFetchRequest,
        session: ShareSession,
        *,
        is_long: bool,
    ) -> None:
        self._services = services
        self._context = context
        self._request = request
        self._session = session
        self._is_long = is_long
        self.later: deque[Settle] = deque()
        """Acknowledgements that count before the fetch waits, and not before it looks."""

    def _take(self, steps: WaitingSteps[T]) -> Coroutine[Any, Any, T]:
        return few_or_in_slices(steps, self._context, is_long=self._is_long)

    async def _has_acknowledgements(self) -> bool:
        topics = self._request.topics
        return bool(topics) and await self._take(_has_acknowledgements(topics))

    async def settle(self) -> None:
        if self.later:
            await self._take(settling(self.later))

    async def answer(self, *, is_renewal: bool) -> ShareFetchResponse:
        """Raises KafkaError."""
        request, context, session = self._request, self._context, self._session
        partitions = self._services.share.partitions
        unstored = self._services.share.unstored(session.key.group_id)
        outcomes: Outcomes = {}
        if await self._has_acknowledgements():
            saying = Saying(
                context.node_id,
                session.key,
                context.api_version,
                is_renewal,
                context.may_read,
                self.later,
                unstored.note,
            )
            outcomes = await self._take(acknowledging(partitions, saying, request.topics))
        answers: _Answers = {}
        epoch = request.share_session_epoch
        fetches = epoch != FINAL_EPOCH and not is_renewal
        if fetches:
            await self._fetch(answers)
        await self.settle()
        told_by = session if fetches and epoch != INITIAL_EPOCH else None
        if told_by is not None and session.epoch != next_epoch(epoch):
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        outcomes = await unstored.stored(context, outcomes)
        response = await self._take(self._response(told_by, answers, outcomes))
        if epoch == FINAL_EPOCH:
            await self._take(partitions.ended.ending(context.node_id, session))
        return response

    async def _fetch(self, answers: _Answers) -> None:
        """Raises KafkaError(UNKNOWN_SERVER_ERROR) for an unknown acquire mode."""
        services, context, request = self._services, self._context, self._request
        partitions = services.share.partitions
        wanted = await self._take(self._wanted(answers))
        if wanted and request.share_acquire_mode not in (_BATCH_OPTIMIZED, _RECORD_LIMITED):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # ShareAcquireMode.forId
        max_bytes = most_bytes(services.config, request.max_bytes)
        if not wanted or request.max_records == 0 or max_bytes == 0:
            return
        epoch = request.share_session_epoch
        if epoch >= 1:
            turn = epoch % len(wanted)
            wanted = wanted[turn:] + wanted[:turn]
        member = self._session.key
        await services.share.fetch_states(context, member.group_id, wanted, is_long=self._is_long)
        reader = ShareReader(
            partitions,
            context.node_id,
            member.group_id,
            Wanted(
                member.member_id,
                request.max_records,
                request.batch_size,
                is_record_limited=request.share_acquire_mode == _RECORD_LIMITED,
            ),
            Limits(min(request.min_bytes, max_bytes), max_bytes),
        )
        await self._take(reader.opening(wanted))
        if not reader.has_only_errors:
            await self._wait(reader)
        await self._take(reader.reading(answers))
        partitions.counts.asked += len(wanted)
        partitions.counts.acquired += reader.acquired_count

    def _wanted(self, answers: _Answers) -> Steps[list[TopicPartitionId]]:
        """The partitions to be read; `answers` get those that may not be."""
        partitions = self._services.share.partitions
        may_read = self._context.may_read
        session = self._session
        wanted: list[TopicPartitionId] = []
        for some in cut(list(session.partitions)):
            for where in some:
                known = session.partitions.get(where)
                if known is None:
                    continue  # another request has changed the session meanwhile
                if known.name is None:
                    answers[where] = Fetched(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))
                elif may_read is not None and not may_read(known.name):
                    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    answers[where] = Fetched(error=KafkaError(code))
                elif not partitions.is_known(where):
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    answers[where] = Fetched(error=KafkaError(code))
                else:
                    wanted.append(where)
            yield
        return wanted

    def _response(
        self, told_by: ShareSession | None, answers: _Answers, outcomes: Outcomes
    ) -> Steps[ShareFetchResponse]:
        """All answers, or those that the client of a session does not know yet."""
        if told_by is not None:
            answers = yield from _told(told_by, answers)
        group_id = self._session.key.group_id
        return (yield from _response(self._services, self._context, group_id, answers, outcomes))

    async def _wait(self, reader: ShareReader) -> None:
        """Wait until there is enough, but not longer than max_wait_ms."""
        if self.later:
            if await self._take(reader.looking()):
                return
            await self.settle()
        context = self._context
        deadline = context.received_at + max(0, self._request.max_wait_ms) / 1000
        if not self._is_long:
            await context.connection.wait_until(
                reader.has_enough,
                at_once(reader.watching()),
                deadline,
                answer_early=False,
            )
        elif not await self._take(reader.looking()) and trio.current_time() < deadline:
            watched = await self._take(reader.watching())
            await wait_in_slices(context, reader.looking, watched, deadline, answer_early=False)


def _told(session: ShareSession, answers: _Answers) -> Steps[_Answers]:
    """The answers that the client does not know yet."""
    told: _Answers = {}
    for some in batches(answers.items()):
        for where, fetched in some:
            if session.must_tell(
                where, has_records=bool(fetched.records), has_error=fetched.error is not None
            ):
                told[where] = fetched
        yield
    if len(answers) > AT_ONCE:
        yield from release_dict(answers)
    return told


def _response(
    services: Services,
    context: RequestContext,
    group_id: str,
    answers: _Answers,
    outcomes: Outcomes,
) -> Steps[ShareFetchResponse]:
    """Raises KafkaError(UNKNOWN_SERVER_ERROR) if a topic is gone."""
    topics: dict[object, ShareFetchableTopicResponse] = {}
    leaders: set[int] = set()

    def told(where: TopicPartitionId) -> PartitionData:
        answer = PartitionData(partition_index=where.partition, records=b"")
        of_topic = topics.get(where.topic_id)
        if of_topic is None:
            of_topic = ShareFetchableTopicResponse(topic_id=where.topic_id)
            topics[where.topic_id] = of_topic
        of_topic.partitions.append(answer)
        error = outcomes.get(where)
        if error is not None:
            answer.acknowledge_error_code = error.code
            answer.acknowledge_error_message = error.message
        return answer

    for some in batches(answers.items()):
        for where, fetched in some:
            answer = told(where)
            answer.records = fetched.records
            answer.acquired_records = [
                AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
                for first, last, count in fetched.acquired
            ]
            topic = services.topics.by_id(where.topic_id)
            if topic is None:
                # Apache Kafka counts bytes by the topic's name, and has none: what is said of the
                # other partitions is lost with it.
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            if fetched.error is not None:
                answer.error_code = fetched.error.code
                if answer.error_code in LEADER_CHANGED:
                    leader = topic.partitions[where.partition].current_leader(leaders)
                    answer.current_leader = LeaderIdAndEpoch(*leader)
        yield
    for acknowledged in batches(outcomes) if outcomes else ():
        for where in acknowledged:
            if where not in answers:
                told(where)
        yield
    if len(answers) > AT_ONCE:
        yield from release_dict(answers)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=services.share.settings.record_lock_duration_ms(group_id),
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(*node)
            for node in services.cluster.endpoints(leaders, context.listener_name)
        ],
    )
