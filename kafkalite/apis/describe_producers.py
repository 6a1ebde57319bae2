"""DescribeProducers (key 61), version 0: who writes to a partition, and since which offset
(KIP-664).

Any replica answers, not only the leader. `kafka-transactions.sh` finds hanging transactions with
it: open in a partition, unknown to their coordinator.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices, mapped_in_steps
from kafkalite.requests.topic_names import validate_topic_name
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)

if TYPE_CHECKING:
    from kafkalite.log.producer_entry import ProducerEntry
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    def describe_topic(topic: TopicRequest) -> Steps[TopicResponse]:
        describe = partial(_describe, services, context, topic.name)
        partitions = yield from mapped_in_steps(describe, topic.partition_indexes)
        return TopicResponse(name=topic.name, partitions=partitions)

    topics = await briefly_or_in_slices(mapped_in_steps(describe_topic, request.topics), context)
    return DescribeProducersResponse(topics=topics)


def _describe(
    services: Services, context: RequestContext, topic_name: str, index: int
) -> Steps[PartitionResponse]:
    try:
        validate_topic_name(topic_name)
        if services.topics.get(topic_name) is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise KafkaError(code, default_message(code))
        partition = services.topics.partition(topic_name, index)
        partition.check_leader(context.node_id, -1, leader_only=False)
    except KafkaError as error:
        return PartitionResponse(
            partition_index=index, error_code=error.code, error_message=error.message
        )
    active: list[ProducerState] = []
    for some in batches(list(partition.log.producer_state.producers.values())):
        active += map(_active, some)
        yield
    return PartitionResponse(partition_index=index, active_producers=active)


def _active(entry: ProducerEntry) -> ProducerState:
    first_offset = entry.transaction_first_offset
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=-1 if first_offset is None else first_offset,
    )
