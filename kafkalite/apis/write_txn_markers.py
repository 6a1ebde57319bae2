"""WriteTxnMarkers (key 27), versions 1-2: markers into partitions that this node leads.

Between brokers, and from `kafka-transactions.sh --abort`, which ends a transaction that its
coordinator does not know (KIP-664). v2 names the transaction's version (KIP-1228). A marker is
answered once all in-sync replicas have it, within `request.timeout.ms`, and the group coordinator
has taken it in.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.replica.pending_append import AwaitedAppend, until_seen
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, in_slices, mapped, mapped_in_steps
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


Written = list[tuple[AwaitedAppend, WritableTxnMarkerPartitionResult]]


async def handle(
    services: Services, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    writer = MarkerWriter(services.topics, services.group_coordinator, services.now_ms)
    written: Written = []

    def write_in_topic(
        marker: WritableTxnMarker, topic: WritableTxnMarkerTopic
    ) -> Steps[WritableTxnMarkerTopicResult]:
        write = partial(_write, writer, context, written, marker, topic.name)
        partitions = yield from mapped(write, topic.partition_indexes)
        return WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions)

    def write_marker(marker: WritableTxnMarker) -> Steps[WritableTxnMarkerResult]:
        topics = yield from mapped_in_steps(partial(write_in_topic, marker), marker.topics)
        return WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)

    markers = await in_slices(mapped_in_steps(write_marker, request.markers), context)
    await _until_replicated(services, context, written)
    return WriteTxnMarkersResponse(markers=markers)


async def _until_replicated(services: Services, context: RequestContext, written: Written) -> None:
    """Wait until all in-sync replicas have the markers; where they do not, the result says so."""
    deadline = trio.current_time() + services.config.integer("request.timeout.ms") / 1000
    for some in batches(written):
        await until_seen([append for append, _ in some], context.node_id, deadline)
        for append, result in some:
            state = append.state(context.node_id)
            result.error_code = ErrorCode.REQUEST_TIMED_OUT if state is None else state
        await trio.lowlevel.checkpoint()  # others have their turn


def _write(
    writer: MarkerWriter,
    context: RequestContext,
    written: Written,
    marker: WritableTxnMarker,
    name: str,
    index: int,
) -> WritableTxnMarkerPartitionResult:
    result = WritableTxnMarkerPartitionResult(partition_index=index)
    try:
        append = writer.write(
            TopicPartition(name, index),
            marker.producer_id,
            marker.producer_epoch,
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
            node_id=context.node_id,
        )
    except KafkaError as error:
        result.error_code = error.code
    else:
        written.append((append, result))
    return result
