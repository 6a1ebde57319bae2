"""StreamsGroupDescribe (key 89), version 0: topology, members, tasks of such groups (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_groups
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
    is_served = services.serves_groups("streams")
    describe = services.group_coordinator.streams.describe
    groups = await describe_groups(is_served, context, request, describe, DescribedGroup)
    return StreamsGroupDescribeResponse(groups=groups)
