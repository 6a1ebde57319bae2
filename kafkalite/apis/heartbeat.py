"""Heartbeat: a member of a classic group is still there, and learns of rebalances.

v3 knows static members (KIP-345).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.heartbeat import HeartbeatRequestRow, HeartbeatResponseRow

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: HeartbeatRequestRow
) -> HeartbeatResponseRow:
    response = services.group_coordinator.classic.heartbeat(context, request)
    if response[1] in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
        context.heard_of(request[0], request[2])
    return response
