"""DescribeGroups: state, members and assignments of classic groups.

v3 may ask what the caller is allowed to do, v4 has instance ids, v6 says GROUP_ID_NOT_FOUND where
there is no such group (KIP-1043); before, that is a group in state Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.security.authorized_operations import GROUP_OPERATIONS
from kafkalite.wire.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    groups = services.group_coordinator.administration.describe_groups(context, request.groups)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)
