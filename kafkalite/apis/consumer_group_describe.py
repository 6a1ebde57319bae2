"""ConsumerGroupDescribe: members, epochs and assignments of groups of the consumer protocol.

v1 tells which protocol each member speaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.coordinators.describing import describe_each
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    def describe(
        context: RequestContext, group_id: str
    ) -> DescribedGroup | Callable[[], DescribedGroup]:
        if not services.serves_groups("consumer"):
            code = ErrorCode.UNSUPPORTED_VERSION
            return DescribedGroup(group_id=group_id, error_code=code)
        return services.group_coordinator.consumer.describe(context, group_id)

    groups = await describe_each(
        context,
        request.group_ids,
        describe,
        include_authorized_operations=request.include_authorized_operations,
    )
    return ConsumerGroupDescribeResponse(groups=groups)
