"""Fetch (key 1), versions 4-18: records from partitions, straight from their segments.

- v5 adds the log start offset, v7 sessions (KIP-227), v9 the leader epoch a client believes in
  (KIP-320), v11 reading from a replica near by (KIP-392), v12 divergence of epochs (KIP-595), v13
  topic ids (KIP-516), v16 who leads instead (KIP-951); v15, v17 and v18 concern replicas only.
- Size: all partitions together get the smaller of max_bytes and fetch.max.bytes. The first batch of
  the first partition that has one is returned whole, however large (KIP-74).
- When: at once if there are min_bytes, an error, nothing to wait for; else when an append makes up
  min_bytes, when a partition moves or vanishes, after max_wait_ms, or, then empty, as soon as the
  client asks for something else on the connection (`kafkalite.answer.parked.fetch`).
- A session remembers which epoch its client believes in; when it goes on in a version that cannot tell
  of a divergence (before v12), the whole request is refused with UNSUPPORTED_VERSION.
- Records are never null: no records is a length of 0 (librdkafka gives up on a null).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.log.open_files import close_slices
from kafkalite.replica.fetch_reader import Answers, FetchReader
from kafkalite.replica.fetch_sessions import FetchContext
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import read_off_loop
from kafkalite.requests.purgatory import WakeReason
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_FIRST_DIVERGENCE_VERSION: Final = 12
_FIRST_LEADER_HINT_VERSION: Final = 16


async def handle(
    services: Services, context: RequestContext, request: FetchRequest
) -> FetchResponse:
    try:
        fetch = services.fetch_sessions[context.node_id].begin(request, context.api_version)
        reader = FetchReader(
            services.config, services.cluster, services.topics, context, request, fetch.targets
        )
        answers = await _read(services, context, request, reader)
        return _response(services, context, request, fetch, answers)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)


async def _read(
    services: Services, context: RequestContext, request: FetchRequest, reader: FetchReader
) -> Answers:
    answers = await _read_now(context, reader)
    if request.max_wait_ms <= 0 or reader.must_answer(answers):
        return answers
    _close(answers)
    wake = await context.connection.wait_until(
        reader.has_enough,
        reader.watched,
        context.received_at + request.max_wait_ms / 1000,
        answer_early=services.config.boolean("kafkalite.answer.parked.fetch"),
    )
    # What the client wants next is more urgent to it than less than min_bytes.
    return await _read_now(context, reader, waited=True, empty=wake is WakeReason.INTERRUPTED)


async def _read_now(
    context: RequestContext, reader: FetchReader, *, waited: bool = False, empty: bool = False
) -> Answers:
    return await read_off_loop(
        lambda: reader.read(waited=waited, empty=empty), context.connection.move_to_task
    )


def _response(
    services: Services,
    context: RequestContext,
    request: FetchRequest,
    fetch: FetchContext,
    answers: Answers,
) -> FetchResponse:
    try:
        session_id, told = fetch.finish(answers)
    except KafkaError:
        _close(answers)
        raise
    if context.api_version < _FIRST_DIVERGENCE_VERSION and any(
        answer.diverging_epoch.epoch >= 0 for _, answer in told
    ):
        _close(told)
        return _unsayable(request)
    response = FetchResponse(session_id=session_id, responses=_by_topic(told))
    if context.api_version >= _FIRST_LEADER_HINT_VERSION:
        _add_leaders(services, context, response)
    return response


def _unsayable(request: FetchRequest) -> FetchResponse:
    """Of all that the request names, that its version is too old (Kafka's getErrorResponse)."""
    code = ErrorCode.UNSUPPORTED_VERSION
    return FetchResponse(
        error_code=code,
        session_id=request.session_id,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    PartitionData(
                        partition_index=partition.partition,
                        error_code=code,
                        high_watermark=-1,
                        records=b"",
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _by_topic(answers: Answers) -> list[FetchableTopicResponse]:
    topics: list[FetchableTopicResponse] = []
    for target, answer in answers:
        last = topics[-1] if topics else None
        # Ids are compared last: nearly always they are one object, and to compare two takes time.
        if last is None or not (
            last.topic == target.topic
            and (last.topic_id is target.topic_id or last.topic_id == target.topic_id)
        ):
            last = FetchableTopicResponse(topic=target.topic, topic_id=target.topic_id)
            topics.append(last)
        last.partitions.append(answer)
    return topics


def _add_leaders(services: Services, context: RequestContext, response: FetchResponse) -> None:
    leaders: set[int] = set()
    for data in response.responses:
        for item in data.partitions:
            if item.error_code not in (
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.FENCED_LEADER_EPOCH,
            ):
                continue
            topic = services.topics.by_id(data.topic_id)
            if topic is not None:
                partition = topic.partitions[item.partition_index]
                item.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
                )
                leaders.add(partition.leader_id)
    if leaders:
        response.node_endpoints = [
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in services.cluster.endpoints(leaders, context.listener_name)
        ]


def _close(answers: Answers) -> None:
    close_slices([answer.records for _, answer in answers])
