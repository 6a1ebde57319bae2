"""ShareGroupHeartbeat (key 76), version 1: the one request of a share group's members (KIP-932)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.cluster.features import SHARE_VERSION
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse | Coroutine[Any, Any, ShareGroupHeartbeatResponse]:
    if not services.cluster.features.get(SHARE_VERSION, 0):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return services.share.when_ready(
        context,
        request.subscribed_topic_names or (),
        lambda: services.group_coordinator.share.heartbeat(context, request),
    )
