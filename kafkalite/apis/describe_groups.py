"""DescribeGroups: state, members and assignments of classic groups.

v3 may ask what the caller is allowed to do, v4 has instance ids, v6 says GROUP_ID_NOT_FOUND where
there is no such group (KIP-1043); before, that is a group in state Dead.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kafkalite.requests.slices import in_slices, mapped
from kafkalite.security.authorized_operations import GROUP_OPERATIONS
from kafkalite.wire.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    describe = services.group_coordinator.administration.describe_groups
    found = await in_slices(
        mapped(lambda group_id: describe(context, [group_id]), request.groups), context
    )
    groups = list(chain.from_iterable(found))
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)
