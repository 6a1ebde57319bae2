"""DescribeGroups: state, members and assignments of classic groups.

v3 may ask what the caller is allowed to do, v4 has instance ids, v6 says GROUP_ID_NOT_FOUND where
there is no such group (KIP-1043); before, that is a group in state Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.wire.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

if TYPE_CHECKING:
    from kafkalite.broker import Broker
    from kafkalite.context import RequestContext

# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: one bit each, by Kafka's AclOperation.
ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


async def handle(
    broker: Broker, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    groups = await broker.group_coordinator.describe_groups(context, request.groups)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = ALL_OPERATIONS
    return DescribeGroupsResponse(groups=groups)
