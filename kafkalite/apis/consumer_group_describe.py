"""ConsumerGroupDescribe: members, epochs and assignments of groups of the consumer protocol.

v1 tells which protocol each member speaks.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kafkalite.requests.slices import in_slices, mapped
from kafkalite.security.authorized_operations import GROUP_OPERATIONS
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
    found = await in_slices(
        mapped(lambda group_id: describe(context, [group_id]), request.group_ids), context
    )
    groups = list(chain.from_iterable(found))
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)
