"""StreamsGroupDescribe (key 89), version 0: topology, members, tasks of such groups (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.apis.streams_group_heartbeat import are_streams_groups_served
from kafkalite.security.authorized_operations import GROUP_OPERATIONS
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    if not are_streams_groups_served(services):
        code = ErrorCode.UNSUPPORTED_VERSION
        return StreamsGroupDescribeResponse(
            groups=[
                DescribedGroup(group_id=group_id, error_code=code, topology=None)
                for group_id in request.group_ids
            ]
        )
    groups = services.group_coordinator.streams.describe(context, request.group_ids)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return StreamsGroupDescribeResponse(groups=groups)
