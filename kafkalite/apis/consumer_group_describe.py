"""ConsumerGroupDescribe: members, epochs and assignments of groups of the consumer protocol.

v1 tells which protocol each member speaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_groups
from kafkalite.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    describe = services.group_coordinator.consumer.describe
    return ConsumerGroupDescribeResponse(groups=await describe_groups(context, request, describe))
