"""LeaveGroup: members go, or an administrator removes them.

v3 names several, also by instance id (KIP-345), v5 carries a reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

SEVERAL_MEMBERS_SINCE: Final = 3


def handle(
    services: Services, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    if context.api_version >= SEVERAL_MEMBERS_SINCE:
        return services.group_coordinator.classic.leave_group(context, request)
    request.members = [MemberIdentity(member_id=request.member_id)]
    response = services.group_coordinator.classic.leave_group(context, request)
    error_code = response.error_code or response.members[0].error_code
    return LeaveGroupResponse(error_code=error_code)
