"""LeaveGroup: members go, or an administrator removes them.

v3 names several, also by instance id (KIP-345), v5 carries a reason (KIP-800).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.slices import AT_ONCE, Steps, batches, in_slices
from kafkalite.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

SEVERAL_MEMBERS_SINCE: Final = 3


def handle(
    services: Services, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse | Coroutine[Any, Any, LeaveGroupResponse]:
    if context.api_version >= SEVERAL_MEMBERS_SINCE:
        if len(request.members) > AT_ONCE:
            return in_slices(_many_leave(services, context, request), context)
        return services.group_coordinator.classic.leave_group(context, request)
    request.members = [MemberIdentity(member_id=request.member_id)]
    response = services.group_coordinator.classic.leave_group(context, request)
    error_code = response.error_code or response.members[0].error_code
    return LeaveGroupResponse(error_code=error_code)


def _many_leave(
    services: Services, context: RequestContext, request: LeaveGroupRequest
) -> Steps[LeaveGroupResponse]:
    members: list[MemberResponse] = []
    for some in batches(request.members):
        part = LeaveGroupRequest(group_id=request.group_id, members=some)
        response = services.group_coordinator.classic.leave_group(context, part)
        if response.error_code:
            return response
        members += response.members
        yield
    return LeaveGroupResponse(members=members)
