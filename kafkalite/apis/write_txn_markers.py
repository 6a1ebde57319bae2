"""WriteTxnMarkers (key 27), versions 1-2: markers into partitions that this node leads.

Between brokers, and from `kafka-transactions.sh --abort`, which ends a transaction that its
coordinator does not know (KIP-664). v2 names the transaction's version (KIP-1228). A marker is
answered once all in-sync replicas have it, within `request.timeout.ms`, and the group coordinator
has taken it in.

Markers of one producer are answered together, and one without partitions is not. One without a
producer fails the whole request: what comes before it is written, what comes after it is not, and
the last marker of each producer is answered. A partition that a marker names twice gets it once;
Apache Kafka never answers that.
Source: KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import trio

from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter, NoProducerError
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.replica.pending_append import AwaitedAppend, until_seen
from kafkalite.requests.context import RequestContext
from kafkalite.requests.refusals import refuse_in_steps
from kafkalite.requests.slices import Steps, batches, in_slices, release_dict, release_set
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import KafkaError
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


class _Outcome:
    """The last marker of a producer in a partition: its result, and the append to be waited for."""

    __slots__ = ("append", "result")

    def __init__(self, index: int) -> None:
        self.result = WritableTxnMarkerPartitionResult(partition_index=index)
        self.append: AwaitedAppend | None = None


_Written = list[tuple[AwaitedAppend, WritableTxnMarkerPartitionResult]]
# By producer id, topic and partition.
_Outcomes = dict[int, dict[str, dict[int, _Outcome]]]


async def handle(
    services: Services, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    writer = MarkerWriter(services.topics, services.group_coordinator, services.now_ms)
    try:
        outcomes = await in_slices(_write_all(writer, context.node_id, request.markers), context)
    except NoProducerError as error:
        refusal: Steps[Any] = refuse_in_steps(
            ApiKey.WRITE_TXN_MARKERS, context.api_version, request, error.code
        )
        return cast("WriteTxnMarkersResponse", await in_slices(refusal, context))
    written: _Written = []
    markers = await in_slices(_told(outcomes, written), context)
    await _until_replicated(services, context, written)
    return WriteTxnMarkersResponse(markers=markers)


def _write_all(
    writer: MarkerWriter, node_id: int, markers: list[WritableTxnMarker]
) -> Steps[_Outcomes]:
    """Raises NoProducerError."""
    outcomes: _Outcomes = {}
    for marker in markers:
        seen: set[TopicPartition] = set()
        for topic in marker.topics:
            for index in topic.partition_indexes:
                yield
                where = TopicPartition(topic.name, index)
                if where not in seen:
                    seen.add(where)
                    of_producer = outcomes.setdefault(marker.producer_id, {})
                    of_topic = of_producer.setdefault(topic.name, {})
                    of_topic[index] = _write(writer, node_id, marker, where)
        yield from release_set(seen)
    return outcomes


def _write(
    writer: MarkerWriter, node_id: int, marker: WritableTxnMarker, where: TopicPartition
) -> _Outcome:
    outcome = _Outcome(where.partition)
    try:
        outcome.append = writer.write(
            where,
            marker.producer_id,
            marker.producer_epoch,
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
            node_id=node_id,
        )
    except NoProducerError:
        raise
    except KafkaError as error:
        outcome.result.error_code = error.code
    return outcome


def _told(outcomes: _Outcomes, written: _Written) -> Steps[list[WritableTxnMarkerResult]]:
    """The results as they stand; `written` gets those that are not known yet.

    `outcomes` are let go.
    """
    markers: list[WritableTxnMarkerResult] = []
    for producer_id, by_topic in outcomes.items():
        topics: list[WritableTxnMarkerTopicResult] = []
        markers.append(WritableTxnMarkerResult(producer_id=producer_id, topics=topics))
        for name, by_index in by_topic.items():
            partitions: list[WritableTxnMarkerPartitionResult] = []
            topics.append(WritableTxnMarkerTopicResult(name=name, partitions=partitions))
            for outcome in by_index.values():
                yield
                partitions.append(outcome.result)
                if outcome.append is not None:
                    written.append((outcome.append, outcome.result))
            yield from release_dict(by_index)
    return markers


async def _until_replicated(services: Services, context: RequestContext, written: _Written) -> None:
    """Wait until all in-sync replicas have the markers; where they do not, the result says so."""
    deadline = trio.current_time() + services.config.integer("request.timeout.ms") / 1000
    for some in batches(written):
        await until_seen([append for append, _ in some], context.node_id, deadline)
        for append, result in some:
            result.error_code = append.outcome(context.node_id)
        await trio.lowlevel.checkpoint()  # others have their turn
