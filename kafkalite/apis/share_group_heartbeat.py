"""ShareGroupHeartbeat (key 76), version 1: the one request of a share group's members (KIP-932)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequestRow,
    ShareGroupHeartbeatResponse,
    ShareGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import SharedResponse, rows_of

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

Answer: TypeAlias = "ShareGroupHeartbeatResponseRow | SharedResponse"


def handle(
    services: Services, context: RequestContext, request: ShareGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    if not services.serves_groups("share"):
        refused: ShareGroupHeartbeatResponseRow
        refused = rows_of(ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        return refused
    names = request[4]
    if not names:  # nearly always
        return services.group_coordinator.share.heartbeat(context, request)
    return services.share.when_ready(
        context, names, lambda: services.group_coordinator.share.heartbeat(context, request)
    )
