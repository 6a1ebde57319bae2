"""InitProducerId (key 22), versions 0-5: a producer's identity (KIP-98).

Without a transactional id every call gets a new producer id, at epoch 0, whatever the request says
of an earlier one. With a transactional id the transaction coordinator answers with the same
producer id and the next epoch, so that the producer with the last epoch is fenced.

v3 may name the producer id and epoch to go on from (KIP-360); v4 knows PRODUCER_FENCED.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.coordinators.transaction_coordinator.transaction import code_of
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import in_slices
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    if services.cluster.has_producer_id(context.node_id):
        return _handle(services, context, request)
    return _handle_later(services, context, request)


async def _handle_later(
    services: Services, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    try:
        await in_slices(services.cluster.taking_producer_ids(context.node_id), context)
    except KafkaError as error:
        return _failed(error.code)
    return _handle(services, context, request)


def _handle(
    services: Services, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _failed(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        try:
            producer_id = services.cluster.allocate_producer_id(context.node_id)
        except KafkaError as error:
            return _failed(error.code)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    expected = None
    if request.producer_id != -1:
        expected = request.producer_id, request.producer_epoch
    try:
        producer_id, producer_epoch = services.transaction_coordinator.init_producer_id(
            request.transactional_id,
            context.node_id,
            timeout_ms=request.transaction_timeout_ms,
            expected=expected,
        )
    except KafkaError as error:
        return _failed(code_of(error, context))
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=producer_epoch)


def _failed(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
