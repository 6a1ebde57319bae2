"""ShareGroupDescribe (key 77), version 1: members, epochs and assignments of share groups
(KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.features import SHARE_VERSION
from kafkalite.requests.slices import in_slices, mapped
from kafkalite.security.authorized_operations import GROUP_OPERATIONS
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
    def describe(group_id: str) -> DescribedGroup:
        if not services.cluster.features.get(SHARE_VERSION, 0):
            code = ErrorCode.UNSUPPORTED_VERSION
            return DescribedGroup(group_id=group_id, error_code=code)
        (group,) = services.group_coordinator.share.describe(context, [group_id])
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    groups = await in_slices(mapped(describe, request.group_ids), context)
    return ShareGroupDescribeResponse(groups=groups)
