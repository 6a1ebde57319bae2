"""ConsumerGroupHeartbeat: the one request of the consumer protocol's members (KIP-848).

v1 has subscriptions by regular expression, and members that make their own ids (KIP-1082).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    response = services.group_coordinator.consumer.heartbeat(context, request)
    context.heard_of(request.group_id, response.member_id)
    return response
