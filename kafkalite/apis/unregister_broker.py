"""UnregisterBroker (key 64), version 0: forget a node for good (KIP-500).

One that lives is fenced first: what it led is led by others, if they hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import in_slices
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    if request.broker_id not in services.cluster.image.brokers:
        return UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"Broker ID {request.broker_id} is not currently registered",
        )
    await in_slices(services.cluster.unregistering(request.broker_id), context)
    return UnregisterBrokerResponse(error_code=ErrorCode.NONE, error_message="")
