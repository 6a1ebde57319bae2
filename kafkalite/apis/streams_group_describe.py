"""StreamsGroupDescribe (key 89), version 0: topology, members, tasks of such groups (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_groups
from kafkalite.wire.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    describe = services.group_coordinator.streams.describe
    return StreamsGroupDescribeResponse(groups=await describe_groups(context, request, describe))
