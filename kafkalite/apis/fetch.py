"""Fetch (key 1), versions 4-18: records from partitions, straight from their segments.

- v5 adds the log start offset, v7 sessions (KIP-227), v9 the leader epoch a client believes in
  (KIP-320), v11 reading from a replica near by (KIP-392), v12 divergence of epochs (KIP-595), v13
  topic ids (KIP-516), v16 who leads instead (KIP-951); v15, v17 and v18 concern replicas only.
- Size: all partitions together get the smaller of max_bytes and fetch.max.bytes. The first batch of
  the first partition that has one is returned whole, however large (KIP-74).
- When: at once if there are min_bytes, an error, nothing to wait for; else when an append makes up
  min_bytes, when a partition moves or vanishes, after max_wait_ms, or, then empty, as soon as the
  client asks for something else on the connection (`kafkalite.answer.parked.fetch`).
- A session remembers which epoch its client believes in; when it goes on in a version that cannot
  tell of a divergence (before v12), the whole request is refused with UNSUPPORTED_VERSION.
- Records are never null: no records is a length of 0 (librdkafka gives up on a null).
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkalite.log.page_cache import NotCached, cached_only
from kafkalite.replica.fetch_reader import FetchReader, close_records, failed_partition
from kafkalite.replica.fetch_sessions import FetchContext, PartitionResponses
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import read_off_loop
from kafkalite.requests.purgatory import WakeReason
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import (
    FetchableTopicResponseRow,
    FetchRequestRow,
    FetchResponseRow,
    NodeEndpointRow,
    PartitionDataRow,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_FIRST_DIVERGENCE_VERSION: Final = 12
_REPLICA_STATE_SINCE: Final = 15
_FIRST_LEADER_HINT_VERSION: Final = 16
_LEADER_CHANGED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle(
    services: Services, context: RequestContext, request: FetchRequestRow
) -> FetchResponseRow | Coroutine[Any, Any, FetchResponseRow]:
    try:
        fetch = services.fetch_sessions[context.node_id].begin(request, context.api_version)
        reader = _reader(services, context, request, fetch)
        try:
            with cached_only:
                responses = reader.read()
        except NotCached:
            return _read_later(services, context, request, fetch, reader)
        if request[3] <= 0 or reader.must_respond:
            return _response(services, context, request, fetch, reader, responses)
    except KafkaError as error:
        return _refused(error)
    close_records(responses)
    return _read_more(services, context, request, fetch, reader)


def _reader(
    services: Services, context: RequestContext, request: FetchRequestRow, fetch: FetchContext
) -> FetchReader:
    _, replica_id, (id_in_state, broker_epoch), *_ = request
    if context.api_version >= _REPLICA_STATE_SINCE:
        replica_id = id_in_state
    reader_class = FetchReader
    if replica_id >= 0 and services.cluster.is_observed:
        # Only brokers ask so, and only where there are several of them.
        from kafkalite.replica.follower_reader import FollowerReader

        reader_class = FollowerReader
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
        return _response_or_refusal(services, context, request, fetch, reader, responses)
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
    wake = await context.connection.wait_until(
        reader.has_enough,
        reader.watched,
        context.received_at + request[3] / 1000,
        answer_early=services.config.boolean("kafkalite.answer.parked.fetch"),
    )
    # The client's next request is more urgent to it than less than min_bytes.
    is_interrupted = wake is WakeReason.INTERRUPTED
    responses = await read_off_loop(
        lambda: reader.read(waited=True, empty=is_interrupted), context.connection.move_to_task
    )
    return _response_or_refusal(services, context, request, fetch, reader, responses)


def _response_or_refusal(
    services: Services,
    context: RequestContext,
    request: FetchRequestRow,
    fetch: FetchContext,
    reader: FetchReader,
    responses: PartitionResponses,
) -> FetchResponseRow:
    try:
        return _response(services, context, request, fetch, reader, responses)
    except KafkaError as error:
        return _refused(error)


def _refused(error: KafkaError) -> FetchResponseRow:
    return 0, error.code, 0, (), ()


def _response(
    services: Services,
    context: RequestContext,
    request: FetchRequestRow,
    fetch: FetchContext,
    reader: FetchReader,
    responses: PartitionResponses,
) -> FetchResponseRow:
    try:
        session_id, told = fetch.finish(responses)
    except KafkaError:
        close_records(responses)
        raise
    version = context.api_version
    if version < _FIRST_DIVERGENCE_VERSION and any(row[5][0] >= 0 for _, row in told):
        close_records(told)
        return _unsupported_version_response(request)
    endpoints: Sequence[NodeEndpointRow] = ()
    if reader.has_errors and version >= _FIRST_LEADER_HINT_VERSION:
        told, endpoints = _with_leaders(services, context, told)
    return 0, 0, session_id, _by_topic(told), endpoints


def _unsupported_version_response(request: FetchRequestRow) -> FetchResponseRow:
    """UNSUPPORTED_VERSION for every partition in the request (Kafka's getErrorResponse)."""
    code = ErrorCode.UNSUPPORTED_VERSION
    topics: list[FetchableTopicResponseRow] = [
        (name, topic_id, [failed_partition(wanted[0], code) for wanted in partitions])
        for name, topic_id, partitions in request[9]
    ]
    return 0, code, request[7], topics, ()


def _by_topic(told: PartitionResponses) -> list[FetchableTopicResponseRow]:
    """The responses as topics with partitions, in their order."""
    topics: list[FetchableTopicResponseRow] = []
    last_name, last_id = None, None
    rows: list[PartitionDataRow] = []
    for target, row in told:
        # Ids are compared last: nearly always they are one object, and to compare two takes time.
        if target.topic != last_name or (
            target.topic_id is not last_id and target.topic_id != last_id
        ):
            last_name, last_id = target.topic, target.topic_id
            rows = []
            topics.append((last_name, last_id, rows))
        rows.append(row)
    return topics


def _with_leaders(
    services: Services, context: RequestContext, told: PartitionResponses
) -> tuple[PartitionResponses, Sequence[NodeEndpointRow]]:
    """The responses with the current leaders where those are others, and the leaders' addresses."""
    leaders: set[int] = set()
    hinted: PartitionResponses = []
    for target, row in told:
        topic = None
        if row[1] in _LEADER_CHANGED:
            topic = services.topics.by_id(target.topic_id)
        if topic is not None:
            partition = topic.partitions[target.index]
            leaders.add(partition.leader_id)
            row = (*row[:6], (partition.leader_id, partition.leader_epoch), *row[7:])
        hinted.append((target, row))
    endpoints: list[NodeEndpointRow] = [
        (node.id, node.host, node.port, node.rack)
        for node in services.cluster.endpoints(leaders, context.listener_name)
    ]
    return hinted, endpoints
