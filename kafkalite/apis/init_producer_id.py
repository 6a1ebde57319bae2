"""InitProducerId (key 22), versions 0-5: a producer's identity (KIP-98).

Without a transactional id every call gets a producer id that nobody ever had, at epoch 0, whatever
the request says of an earlier one. With a transactional id the transaction coordinator answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.context import RequestContext
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

if TYPE_CHECKING:
    from kafkalite.broker import Broker


async def handle(
    broker: Broker, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _failed(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return InitProducerIdResponse(
            error_code=ErrorCode.NONE,
            producer_id=broker.cluster.allocate_producer_id(context.node_id),
            producer_epoch=0,
        )
    if not request.transactional_id:
        return _failed(ErrorCode.INVALID_REQUEST)
    # There is no transaction coordinator yet; a client takes this as final, and says so.
    return _failed(ErrorCode.UNSUPPORTED_VERSION)


def _failed(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
