"""Fetch (key 1), versions 4-18: records from partitions, straight from their segments.

- v5 adds the log start offset, v7 sessions (KIP-227), v9 the leader epoch a client believes in
  (KIP-320), v11 reading from a replica near by (KIP-392), v12 divergence of epochs (KIP-595), v13
  topic ids (KIP-516), v16 who leads instead (KIP-951); v15, v17 and v18 concern replicas only.
- Size: all partitions together get the smaller of max_bytes and fetch.max.bytes. The first batch of
  the first partition that has one is returned whole, however large (KIP-74).
- When: at once if there are min_bytes, an error in reading, nothing to wait for (what is not there,
  or may not be read, is not); else when an append makes up min_bytes, when a partition moves or
  vanishes, after max_wait_ms, or, then empty, as soon as the client asks for something else on the
  connection (`kafkalite.answer.parked.fetch`).
- A session remembers which epoch its client believes in; when it goes on in a version that cannot
  tell of a divergence (before v12), the whole request is refused with UNSUPPORTED_VERSION.
- Records are never null: no records is a length of 0 (librdkafka gives up on a null).
- A client that has read more than its quota is answered with nothing, not even an error of its
  session, which does not hear of the request's outcome; a new session is not opened.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkalite.log.page_cache import NotCached, cached_only
from kafkalite.replica.fetch_reader import FetchReader, close_records, failed_partition
from kafkalite.replica.fetch_sessions import REPLICA_STATE_SINCE, FetchContext
from kafkalite.replica.fetch_target import FetchTarget, PartitionResponse, PartitionResponses
from kafkalite.replica.partition import LEADER_CHANGED
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import off_loop, read_off_loop
from kafkalite.requests.long_waits import wait_in_slices
from kafkalite.requests.purgatory import WakeReason
from kafkalite.requests.slices import (
    AT_ONCE,
    COUNTED_FROM_BYTES,
    Steps,
    WaitingSteps,
    at_once,
    cut,
    in_slices,
    is_long,
    mapped,
    release,
    release_dict,
)
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.api_keys import FETCH_BY_ID_SINCE, ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import (
    FetchableTopicResponseRow,
    FetchRequestRow,
    FetchResponseRow,
    NodeEndpointRow,
    PartitionDataRow,
)
from kafkalite.wire.rows import LargeResponse

if TYPE_CHECKING:
    from kafkalite.services import Services

_FIRST_DIVERGENCE_VERSION: Final = 12
_FIRST_LEADER_HINT_VERSION: Final = 16

# Partitions that are read at once: each takes some five microseconds.
_MOST_AT_ONCE: Final = 1024

# Refusals that are not a session's.
_OF_THE_REQUEST: Final = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNKNOWN_SERVER_ERROR)

_TopicRows = tuple[str, UUID, list[PartitionDataRow]]
_NO_TOPIC: Final[tuple[None, None, list[PartitionDataRow]]] = (None, None, [])


def handle(
    services: Services, context: RequestContext, request: FetchRequestRow
) -> FetchResponseRow | Coroutine[Any, Any, FetchResponseRow] | Coroutine[Any, Any, LargeResponse]:
    if context.request_bytes >= COUNTED_FROM_BYTES and (
        is_long(context, request[9], _MOST_AT_ONCE) or is_long(context, request[10], _MOST_AT_ONCE)
    ):
        return _begin_in_slices(services, context, request)
    try:
        fetch = services.fetch_sessions[context.node_id].begin(request, context.api_version)
        if len(fetch.targets) > _MOST_AT_ONCE:
            return _fetch_in_slices(services, context, request, fetch)
        reader = _reader(services, context, request, fetch)
        try:
            with cached_only:
                responses = reader.read()
        except NotCached:
            return _read_later(services, context, request, fetch, reader)
        if request[3] <= 0 or reader.must_respond:
            return _response(services, context, request, fetch, reader, responses)
    except KafkaError as error:
        return _refused(context, request, error)
    close_records(responses)
    if len(fetch.targets) > AT_ONCE:
        # One Produce may change all of them, and each change has them looked through.
        return _fetch_in_slices(services, context, request, fetch)
    return _read_more(services, context, request, fetch, reader)


async def _begin_in_slices(
    services: Services, context: RequestContext, request: FetchRequestRow
) -> LargeResponse:
    sessions = services.fetch_sessions[context.node_id]
    try:
        fetch = await in_slices(sessions.beginning(request, context.api_version), context)
    except KafkaError as error:
        return LargeResponse(_refused(context, request, error))
    return await _fetch_in_slices(services, context, request, fetch)


async def _fetch_in_slices(
    services: Services, context: RequestContext, request: FetchRequestRow, fetch: FetchContext
) -> LargeResponse:
    """Fetch very many partitions: others have their turns between parts of them."""
    await context.connection.move_to_task()
    try:
        reader = _reader(services, context, request, fetch)
        responses = await _read_in_slices(context, reader)
    except KafkaError as error:
        return LargeResponse(_refused(context, request, error))
    if request[3] > 0 and not reader.must_respond:
        close_records(responses)
        wake = await wait_in_slices(
            context,
            reader.look,
            reader.watched,
            _deadline(context, request),
            answer_early=_answers_early(services),
        )
        is_interrupted = wake is WakeReason.INTERRUPTED
        responses = await _read_in_slices(context, reader, waited=True, empty=is_interrupted)
    topics: list[_TopicRows] = []
    leaders: set[int] = set()
    told: list[Sequence[PartitionResponse]] = []

    def tell(some: Sequence[PartitionResponse]) -> None:
        told.append(_tell(services, context, fetch, reader, some, topics, leaders))

    try:
        await in_slices(mapped(tell, cut(responses)), context)
        wait_ms = 0
        if context.wait_for is not None:
            wait_ms = context.wait_for(await in_slices(_size(context, topics), context))
        if wait_ms:
            row = _throttled(fetch, responses, wait_ms)
        else:
            await in_slices(mapped(fetch.remember, told), context)
            row = _finished(services, context, fetch, topics, leaders)
    except BaseException as error:
        close_records(responses)
        if isinstance(error, KafkaError):
            return LargeResponse(_refused(context, request, error, session_id=request[7]))
        raise
    await in_slices(release([responses, fetch.targets, *told]), context)
    await in_slices(release_dict(reader.refused), context)
    return LargeResponse(row)


async def _read_in_slices(
    context: RequestContext, reader: FetchReader, *, waited: bool = False, empty: bool = False
) -> PartitionResponses:
    responses: PartitionResponses = []

    def reading() -> WaitingSteps[None]:
        for some in cut(reader.targets):
            responses.extend((yield from off_loop(partial(reader.read_some, some))))
            yield None

    reader.begin(waited=waited, empty=empty)
    try:
        await in_slices(reading(), context)
    except BaseException:
        close_records(responses)
        raise
    reader.end()
    return responses


def _reader(
    services: Services, context: RequestContext, request: FetchRequestRow, fetch: FetchContext
) -> FetchReader:
    _, replica_id, (id_in_state, broker_epoch), *_ = request
    if context.api_version >= REPLICA_STATE_SINCE:
        replica_id = id_in_state
    reader_class = FetchReader
    if replica_id >= 0:
        # Only brokers ask so.
        from kafkalite.replica.follower_reader import FollowerReader, ReplicaIdReader

        reader_class = FollowerReader if services.cluster.is_observed else ReplicaIdReader
    reader = reader_class(
        services.config, services.cluster, services.topics, context, request, fetch.targets
    )
    reader.asked_by(replica_id, broker_epoch)
    return reader


async def _read_later(
    services: Services,
    context: RequestContext,
    request: FetchRequestRow,
    fetch: FetchContext,
    reader: FetchReader,
) -> FetchResponseRow:
    """Read what is on the disk only."""
    responses = await read_off_loop(reader.read, context.connection.move_to_task)
    if request[3] <= 0 or reader.must_respond:
        return _response(services, context, request, fetch, reader, responses)
    close_records(responses)
    return await _read_more(services, context, request, fetch, reader)


async def _read_more(
    services: Services,
    context: RequestContext,
    request: FetchRequestRow,
    fetch: FetchContext,
    reader: FetchReader,
) -> FetchResponseRow:
    """Wait for min_bytes, but not longer than max_wait_ms, and read what is there then."""
    wake = await _wait(services, context, request, reader)
    # The client's next request is more urgent to it than less than min_bytes.
    is_interrupted = wake is WakeReason.INTERRUPTED
    responses = await read_off_loop(
        lambda: reader.read(waited=True, empty=is_interrupted), context.connection.move_to_task
    )
    return _response(services, context, request, fetch, reader, responses)


async def _wait(
    services: Services, context: RequestContext, request: FetchRequestRow, reader: FetchReader
) -> WakeReason:
    return await context.connection.wait_until(
        reader.has_enough,
        reader.watched,
        _deadline(context, request),
        answer_early=_answers_early(services),
    )


def _deadline(context: RequestContext, request: FetchRequestRow) -> float:
    return context.received_at + request[3] / 1000


def _answers_early(services: Services) -> bool:
    return services.config.boolean("kafkalite.answer.parked.fetch")


def _response(
    services: Services,
    context: RequestContext,
    request: FetchRequestRow,
    fetch: FetchContext,
    reader: FetchReader,
    responses: PartitionResponses,
) -> FetchResponseRow:
    topics: list[_TopicRows] = []
    leaders: set[int] = set()
    try:
        told = _tell(services, context, fetch, reader, responses, topics, leaders)
        if context.wait_for is not None:
            wait_ms = context.wait_for(at_once(_size(context, topics)))
            if wait_ms:
                return _throttled(fetch, responses, wait_ms)
        fetch.remember(told)
        return _finished(services, context, fetch, topics, leaders)
    except KafkaError as error:
        close_records(responses)
        return _refused(context, request, error, session_id=request[7])


def _tell(
    services: Services,
    context: RequestContext,
    fetch: FetchContext,
    reader: FetchReader,
    responses: Sequence[PartitionResponse],
    topics: list[_TopicRows],
    leaders: set[int],
) -> Sequence[PartitionResponse]:
    """Add to `topics` what the client is to be told, in the order of the responses.

    `leaders` are those who lead what was asked of the wrong node. Raises KafkaError.
    """
    told = fetch.tell(responses)
    version = context.api_version
    if version < _FIRST_DIVERGENCE_VERSION and any(row[5][0] >= 0 for _, row in told):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    has_hints = reader.has_errors and version >= _FIRST_LEADER_HINT_VERSION
    last_name, last_id, rows = topics[-1] if topics else _NO_TOPIC
    for target, row in told:
        # Ids are compared last: nearly always they are one object, and to compare two takes time.
        if target.topic != last_name or (
            target.topic_id is not last_id and target.topic_id != last_id
        ):
            last_name, last_id = target.topic, target.topic_id
            rows = list[PartitionDataRow]()
            topics.append((last_name, last_id, rows))
        rows.append(_with_leader(services, target, row, leaders) if has_hints else row)
    if not reader.names_leaders:
        leaders.clear()
    return told


def _size(context: RequestContext, topics: Sequence[_TopicRows]) -> Steps[int]:
    """The bytes of an answer with these topics, as Kafka counts them for a quota
    (FetchResponse.sizeOf): without its header, and with its length."""
    codec = codec_of(ApiKey.FETCH, context.api_version, rows=True)
    header_size = 9 if codec.flexible else 8

    def size(some: Sequence[FetchableTopicResponseRow]) -> int:
        row: FetchResponseRow = 0, 0, 0, some, ()
        return sum(map(len, codec.build(0, row))) - header_size + 4

    nothing = total = size([])
    for name, topic_id, rows in topics:
        for few in cut(rows):
            yield
            total += size([(name, topic_id, few)]) - nothing
    return total


def _throttled(
    fetch: FetchContext, responses: PartitionResponses, wait_ms: int
) -> FetchResponseRow:
    """Nothing is told: the client has to wait. Raises KafkaError."""
    session_id = fetch.tell_nothing()
    close_records(responses)
    return wait_ms, 0, session_id, (), ()


def _with_leader(
    services: Services, target: FetchTarget, row: PartitionDataRow, leaders: set[int]
) -> PartitionDataRow:
    """The response of a partition with the current leader, where that is another."""
    topic = services.topics.by_id(target.topic_id) if row[1] in LEADER_CHANGED else None
    if topic is None:
        return row
    return (*row[:6], topic.partitions[target.index].current_leader(leaders), *row[7:])


def _finished(
    services: Services,
    context: RequestContext,
    fetch: FetchContext,
    topics: list[_TopicRows],
    leaders: set[int],
) -> FetchResponseRow:
    session_id = fetch.finish()
    endpoints: Sequence[NodeEndpointRow] = ()
    if leaders:
        endpoints = services.cluster.endpoints(leaders, context.listener_name)
    return 0, 0, session_id, topics, endpoints


def _refused(
    context: RequestContext, request: FetchRequestRow, error: KafkaError, session_id: int = 0
) -> FetchResponseRow:
    if error.code not in _OF_THE_REQUEST:
        wait_ms = 0 if context.wait_for is None else context.wait_for(at_once(_size(context, ())))
        return wait_ms, ErrorCode.NONE if wait_ms else error.code, session_id, (), ()
    if context.api_version >= FETCH_BY_ID_SINCE:
        return 0, error.code, request[7], (), ()
    # For every partition in the request, as Kafka's getErrorResponse.
    topics: list[FetchableTopicResponseRow] = [
        (name, topic_id, [failed_partition(wanted[0], error.code) for wanted in partitions])
        for name, topic_id, partitions in request[9]
    ]
    return 0, error.code, request[7], topics, ()
