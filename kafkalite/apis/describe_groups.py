"""DescribeGroups: state, members and assignments of classic groups.

v3 may ask what the caller is allowed to do, v4 has instance ids, v6 says GROUP_ID_NOT_FOUND where
there is no such group (KIP-1043); before, that is a group in state Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_each
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    describe = services.group_coordinator.administration.describe
    groups = await describe_each(
        context,
        request.groups,
        describe,
        include_authorized_operations=request.include_authorized_operations,
    )
    return DescribeGroupsResponse(groups=groups)
