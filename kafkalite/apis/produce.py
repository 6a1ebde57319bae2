"""Produce (key 0), versions 3-13: append one batch to each partition named.

Advertised from 0 (see the table in `__init__`), served from 3, where the v2 record batch begins.

- v5 answers with the log start offset, v8 with record errors and an error message (KIP-467), v10
  tells who leads instead (KIP-951), v11 knows TRANSACTION_ABORTABLE, v12 adds partitions to the
  transaction by itself (KIP-890), v13 names topics by id (KIP-516). zstd is allowed from v7.
- acks=all is answered once the high watermark has passed, which is at once, unless
  `kafkalite.visible.after.flush` holds it back: then the answer waits for the flush, up to
  `timeout_ms` (REQUEST_TIMED_OUT: appended, and perhaps flushed later), as Kafka's DelayedProduce.
- acks=0 has no answer; an error then closes the connection, which is the only sign there is.
- Errors are per partition, and a partition that fails does not touch the others.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalite.coordinators.produce_transactions import (
    NotInTransaction,
    await_previous_transaction,
    begin_transaction,
    is_transactional,
)
from kafkalite.log.errors import InvalidRecordsError
from kafkalite.replica.partition import ALL_IN_SYNC, Partition
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.purgatory import wait_until
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import InMemory
from kafkalite.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topic
    from kafkalite.services import Services

_VALID_ACKS: Final = (-1, 0, 1)
_FIRST_LEADER_HINT_VERSION: Final = 10
_FIRST_TOPIC_ID_VERSION: Final = 13
_FIRST_ZSTD_VERSION: Final = 7

# Of a batch: int64 base offset, int32 length of what follows, int32 leader epoch, int8 magic.
_LENGTH_AND_MAGIC: Final = Struct(">i4xB")
_OFFSET_AND_LENGTH_BYTES: Final = 12
_UP_TO_MAGIC_BYTES: Final = 17
_SMALLEST_LENGTH: Final = 14
_MAGIC: Final = 2
# The codec is in the low bits of the attributes, bytes 21 and 22.
_CODEC_MASK: Final = 7
_ZSTD: Final = 4

# Producer id and epoch.
_PRODUCER: Final = slice(43, 53)

# Kafka's admin client may write to internal topics (KafkaApis.scala), nobody else.
_ADMIN_CLIENT_ID: Final = "__admin_client"

# Errors found before the log was looked at: the answer then has no log start offset. Everything
# else carries the real one (ReplicaManager.appendRecordsToLeader).
_WITHOUT_LOG_START_OFFSET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)


async def handle(
    services: Services, context: RequestContext, request: ProduceRequest
) -> ProduceResponse | None:
    if request.transactional_id is not None:
        await await_previous_transaction(
            services.transaction_coordinator, services.config, context, request.transactional_id
        )
    leaders: set[int] = set()  # those who lead what was asked of the wrong node
    pending: list[Pending] = []
    producers = _transactional_producers(request)
    unreadable = _first_unreadable(request)
    if unreadable is not None:
        response = _refused(request, ErrorCode.CORRUPT_MESSAGE, unreadable)
    elif producers and request.transactional_id is None:
        response = _refused(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif (
        len(producers) > 1
        and len(_transactional_producers(_only_known(services, context, request))) > 1
    ):
        response = _refused(
            request,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            "Transactional records contained more than one producer ID",
        )
    else:
        response = ProduceResponse(
            responses=[
                _append_topic(services, context, request, data, leaders, pending)
                for data in request.topic_data
                if data.partition_data
            ]
        )
    if pending and request.acks == ALL_IN_SYNC:
        await context.connection.move_to_task()
        await _settle(context, request.timeout_ms, pending)
    if request.acks == 0:
        _hang_up_on_error(response)
        return None
    if leaders:
        response.node_endpoints = _endpoints(services, context, leaders)
    return response


def _first_unreadable(request: ProduceRequest) -> str | None:
    """What is wrong with the first batch of a partition that cannot even be begun to read.

    Apache Kafka comes upon it when it looks whether anything belongs to a transaction, and refuses the
    whole request. It stops looking at the first that does (RequestUtils.hasTransactionalRecords).
    """
    for data in request.topic_data:
        for item in data.partition_data:
            if item.records is None:
                continue
            if (problem := _unreadable(item.records)) is not None:
                return problem
            if is_transactional(item.records):
                return None
    return None


def _transactional_producers(request: ProduceRequest) -> set[bytes]:
    """The ids and epochs of those whose batches belong to a transaction, as they lie there."""
    return {
        bytes(item.records[_PRODUCER])
        for data in request.topic_data
        for item in data.partition_data
        if item.records is not None and is_transactional(item.records)
    }


def _only_known(
    services: Services, context: RequestContext, request: ProduceRequest
) -> ProduceRequest:
    """What of it is for partitions that are there."""
    known: list[TopicProduceData] = []
    for data in request.topic_data:
        topic, _ = _find_topic(services, context, data)
        count = 0 if topic is None else len(topic.partitions)
        items = [item for item in data.partition_data if 0 <= item.index < count]
        known.append(TopicProduceData(partition_data=items))
    return ProduceRequest(topic_data=known)


def _refused(
    request: ProduceRequest, code: ErrorCode, message: str | None = None
) -> ProduceResponse:
    """Not one partition is looked at (KafkaApis.handleProduceRequest)."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=data.name,
                topic_id=data.topic_id,
                partition_responses=[
                    _failed(item.index, KafkaError(code, message), None)
                    for item in data.partition_data
                ],
            )
            for data in request.topic_data
            if data.partition_data
        ]
    )


def _append_topic(
    services: Services,
    context: RequestContext,
    request: ProduceRequest,
    data: TopicProduceData,
    leaders: set[int],
    pending: list[Pending],
) -> TopicProduceResponse:
    topic, missing = _find_topic(services, context, data)
    responses: list[PartitionProduceResponse] = []
    for item in data.partition_data:
        partition: Partition | None = None
        try:
            if topic is None:
                raise KafkaError(missing)
            if not 0 <= item.index < len(topic.partitions):
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            records = check_shape(item.records, context.api_version)
            partition = topic.partitions[item.index]
            partition.check_leader(context.node_id, -1, leader_only=True)
            guard = None
            if is_transactional(records):
                guard = begin_transaction(
                    services.transaction_coordinator,
                    services.config,
                    context,
                    request,
                    partition,
                    records,
                )
            if request.acks not in _VALID_ACKS:
                raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
            if topic.is_internal and context.client_id != _ADMIN_CLIENT_ID:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            info = partition.append(records, required_acks=request.acks, verification_guard=guard)
            answer = PartitionProduceResponse(
                index=item.index,
                error_code=ErrorCode.NONE,
                base_offset=info.base_offset,
                log_append_time_ms=info.log_append_time_ms,
                log_start_offset=info.log_start_offset,
            )
            responses.append(answer)
            if info.last_offset >= partition.log.high_watermark:
                pending.append(Pending(partition, info.last_offset, answer))
        except KafkaError as error:
            answer = _failed(item.index, error, partition)
            hinted = context.api_version >= _FIRST_LEADER_HINT_VERSION
            if hinted and partition is not None and error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                answer.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
                )
                leaders.add(partition.leader_id)
            responses.append(answer)
    return TopicProduceResponse(
        name=data.name, topic_id=data.topic_id, partition_responses=responses
    )


class Pending(NamedTuple):
    """What was appended and is not to be seen yet, and its answer."""

    partition: Partition
    last_offset: int
    answer: PartitionProduceResponse

    def state(self, node_id: int) -> ErrorCode | None:
        """NONE once it is seen, an error if it never will be by this node; None as long as it waits."""
        partition = self.partition
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.log.offline_reason is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition.leader_id != node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if partition.high_watermark > self.last_offset else None


async def _settle(context: RequestContext, timeout_ms: int, pending: list[Pending]) -> None:
    """Wait until all is settled, or the time is over; say in the answers what became of each."""
    await wait_until(
        lambda: all(each.state(context.node_id) is not None for each in pending),
        [each.partition.watchers for each in pending],
        context.received_at + timeout_ms / 1000,
    )
    for each in pending:
        state = each.state(context.node_id)
        each.answer.error_code = ErrorCode.REQUEST_TIMED_OUT if state is None else state


def _find_topic(
    services: Services, context: RequestContext, data: TopicProduceData
) -> tuple[Topic | None, ErrorCode]:
    if context.api_version >= _FIRST_TOPIC_ID_VERSION:
        return services.topics.by_id(data.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    return services.topics.get(data.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def check_shape(records: InMemory | None, api_version: int) -> InMemory:
    """Refuse what is not one whole v2 batch, before anybody looks at the partition.

    Raises KafkaError with INVALID_RECORD, CORRUPT_MESSAGE, UNSUPPORTED_COMPRESSION_TYPE or, as
    Apache Kafka does for a codec it does not know, UNKNOWN_SERVER_ERROR
    (ProduceRequest.validateRecords). Bytes after the batch that are no whole batch do no harm.
    """
    if records is None or len(records) < _UP_TO_MAGIC_BYTES:
        raise KafkaError(ErrorCode.INVALID_RECORD)
    if (problem := _unreadable(records)) is not None:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, problem)
    length, magic = _LENGTH_AND_MAGIC.unpack_from(records, 8)
    size = _OFFSET_AND_LENGTH_BYTES + length
    if size > len(records) or magic != _MAGIC:
        raise KafkaError(ErrorCode.INVALID_RECORD)
    if size < len(records):
        if _is_whole(records[size:]):
            raise KafkaError(ErrorCode.INVALID_RECORD)
        records = records[:size]
    if api_version < _FIRST_ZSTD_VERSION:
        _check_codec(records[22] & _CODEC_MASK)
    return records


def _unreadable(records: InMemory) -> str | None:
    """Kafka's words for a length or a magic that no batch has (ByteBufferLogInputStream)."""
    if len(records) < _UP_TO_MAGIC_BYTES:
        return None
    length, magic = _LENGTH_AND_MAGIC.unpack_from(records, 8)
    if length < _SMALLEST_LENGTH:
        return f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})"
    if magic > _MAGIC:
        return f"Invalid magic found in record: {magic}"
    return None


def _check_codec(codec: int) -> None:
    """Only those versions look at the codec here; what is none at all is left to the log later."""
    if codec == _ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if codec > _ZSTD:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _is_whole(records: InMemory) -> bool:
    if len(records) < _UP_TO_MAGIC_BYTES:
        return False
    length, _ = _LENGTH_AND_MAGIC.unpack_from(records, 8)
    return bool(len(records) >= _OFFSET_AND_LENGTH_BYTES + length)


def _failed(index: int, error: KafkaError, partition: Partition | None) -> PartitionProduceResponse:
    log_start_offset = -1
    is_of_log = error.code not in _WITHOUT_LOG_START_OFFSET
    if partition is not None and is_of_log and not isinstance(error, NotInTransaction):
        log_start_offset = partition.log.log_start_offset
    answer = PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=log_start_offset,
    )
    if partition is None or isinstance(error, (InvalidRecordsError, NotInTransaction)):
        # What the log refuses comes with words only when single records are at fault (KIP-467).
        answer.error_message = error.message
    if isinstance(error, InvalidRecordsError):
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=batch_index, batch_index_error_message=text)
            for batch_index, text in error.record_errors
        ]
    return answer


def _hang_up_on_error(response: ProduceResponse) -> None:
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code != ErrorCode.NONE:
                name = topic.name or topic.topic_id
                raise CloseConnection(
                    f"a Produce with acks=0 to {name}-{partition.index} failed with "
                    f"{ErrorCode(partition.error_code).name}"
                )


def _endpoints(
    services: Services, context: RequestContext, leaders: set[int]
) -> list[NodeEndpoint]:
    return [
        NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
        for node in services.cluster.endpoints(leaders, context.listener_name)
    ]
