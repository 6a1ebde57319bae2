"""StreamsGroupDescribe (key 89), version 0: topology, members, tasks of such groups (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_each
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    def describe(context: RequestContext, group_id: str) -> DescribedGroup:
        if not services.serves_groups("streams"):
            code = ErrorCode.UNSUPPORTED_VERSION
            return DescribedGroup(group_id=group_id, error_code=code, topology=None)
        return services.group_coordinator.streams.describe(context, group_id)

    groups = await describe_each(
        context,
        request.group_ids,
        describe,
        include_authorized_operations=request.include_authorized_operations,
    )
    return StreamsGroupDescribeResponse(groups=groups)
