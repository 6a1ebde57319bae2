"""ShareGroupDescribe (key 77), version 1: members, epochs and assignments of share groups
(KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_each
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    def describe(context: RequestContext, group_id: str) -> DescribedGroup:
        if not services.serves_groups("share"):
            code = ErrorCode.UNSUPPORTED_VERSION
            return DescribedGroup(group_id=group_id, error_code=code)
        return services.group_coordinator.share.describe(context, group_id)

    groups = await describe_each(
        context,
        request.group_ids,
        describe,
        include_authorized_operations=request.include_authorized_operations,
    )
    return ShareGroupDescribeResponse(groups=groups)
