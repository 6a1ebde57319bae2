"""ShareGroupDescribe (key 77), version 1: members, epochs and assignments of share groups
(KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_groups
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
    is_served = services.serves_groups("share")
    describe = services.group_coordinator.share.describe
    groups = await describe_groups(is_served, context, request, describe, DescribedGroup)
    return ShareGroupDescribeResponse(groups=groups)
