"""WriteTxnMarkers (key 27), versions 1-2: markers into partitions that this node leads.

Between brokers, and from `kafka-transactions.sh --abort`, which ends a transaction that its
coordinator does not know (KIP-664). v2 names the transaction's version (KIP-1228).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    writer = MarkerWriter(services.topics, services.group_coordinator, services.now_ms)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index,
                                error_code=_write(
                                    writer, context, marker, TopicPartition(topic.name, index)
                                ),
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _write(
    writer: MarkerWriter, context: RequestContext, marker: WritableTxnMarker, where: TopicPartition
) -> ErrorCode:
    try:
        writer.write(
            where,
            marker.producer_id,
            marker.producer_epoch,
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
            node_id=context.node_id,
        )
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
