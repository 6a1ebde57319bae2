"""AddOffsetsToTxn (key 25), versions 0-4: a transaction will commit offsets of this group (KIP-98).

It adds the group's partition of `__consumer_offsets`, where the offsets and the marker are written.
v2 knows PRODUCER_FENCED. Clients of transactions v2 leave it out (KIP-890).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import VERSION_1, code_of
from kafkalite.requests.context import RequestContext
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    if services.topics.get(OFFSETS_TOPIC) is None:
        return _add_to_new_topic(services, context, request)
    return _add(services, context, request)


async def _add_to_new_topic(
    services: Services, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    await services.topics.ready_internal(OFFSETS_TOPIC, context)
    return _add(services, context, request)


def _add(
    services: Services, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    try:
        offsets = services.topics.create_internal(OFFSETS_TOPIC)
        services.transaction_coordinator.add_partitions(
            Producer(request.transactional_id, request.producer_id, request.producer_epoch),
            context.node_id,
            {OFFSETS_TOPIC: (offsets.coordinating(request.group_id).index,)},
            client_version=VERSION_1,
        )
    except KafkaError as error:
        return AddOffsetsToTxnResponse(error_code=code_of(error, context))
    return AddOffsetsToTxnResponse()
