"""ConsumerGroupDescribe: members, epochs and assignments of groups of the consumer protocol.

v1 tells which protocol each member speaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.security.authorized_operations import GROUP_OPERATIONS
from kafkalite.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    groups = services.group_coordinator.consumer.describe(context, request.group_ids)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)
