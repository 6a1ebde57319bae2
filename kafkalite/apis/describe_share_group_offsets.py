"""DescribeShareGroupOffsets (key 90), versions 0-1: where share groups are with partitions
(KIP-932).

No topics at all stands for all of a group's. v1 adds the lag (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.cluster.features import SHARE_VERSION
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse | Coroutine[Any, Any, DescribeShareGroupOffsetsResponse]:
    # All of a group's: it has states, or none is asked for.
    names = (topic.topic_name for group in request.groups for topic in group.topics or ())
    return services.share.when_ready(context, names, lambda: _respond(services, context, request))


def _respond(
    services: Services, context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[_described(services, context, group) for group in request.groups]
    )


def _described(
    services: Services, context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    if not services.cluster.features.get(SHARE_VERSION, 0):
        return DescribeShareGroupOffsetsResponseGroup(
            group_id=group.group_id, error_code=ErrorCode.UNSUPPORTED_VERSION
        )
    return services.group_coordinator.share.offsets.describe(context, group)
