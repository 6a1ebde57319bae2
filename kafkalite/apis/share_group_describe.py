"""ShareGroupDescribe (key 77), version 1: members, epochs and assignments of share groups
(KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_groups
from kafkalite.wire.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    describe = services.group_coordinator.share.describe
    return ShareGroupDescribeResponse(groups=await describe_groups(context, request, describe))
