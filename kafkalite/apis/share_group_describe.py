"""ShareGroupDescribe (key 77), version 1: members, epochs and assignments of share groups
(KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.features import SHARE_VERSION
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


def handle(
    services: Services, context: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    if not services.cluster.features.get(SHARE_VERSION, 0):
        code = ErrorCode.UNSUPPORTED_VERSION
        return ShareGroupDescribeResponse(
            groups=[
                DescribedGroup(group_id=group_id, error_code=code) for group_id in request.group_ids
            ]
        )
    groups = services.group_coordinator.share.describe(context, request.group_ids)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return ShareGroupDescribeResponse(groups=groups)
