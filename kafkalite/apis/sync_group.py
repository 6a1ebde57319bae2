"""SyncGroup: the leader hands in the assignment, and every member gets its share.

v3 knows static members (KIP-345), v5 names the protocol that was chosen (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

PROTOCOL_SINCE: Final = 5


async def handle(
    services: Services, context: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse:
    """Answered when the leader has synced."""
    if context.api_version >= PROTOCOL_SINCE and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    context.heard_of(request.group_id, request.member_id)
    parked = services.group_coordinator.classic.sync_group(context, request)
    if not parked.is_answered:
        await context.connection.move_to_task()
    return await parked.response()
