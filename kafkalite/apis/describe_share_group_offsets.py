"""DescribeShareGroupOffsets (key 90), versions 0-1: where share groups are with partitions
(KIP-932).

No topics at all stands for all of a group's. v1 adds the lag (KIP-1226).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.cluster.features import SHARE_VERSION
from kafkalite.requests.slices import Steps, in_slices, mapped_in_steps
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


async def handle(
    services: Services, context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    # All of a group's: it has states, or none is asked for.
    names = (topic.topic_name for group in request.groups for topic in group.topics or ())
    await services.share.make_ready(context, names)
    describe = partial(_described, services, context)
    groups = await in_slices(mapped_in_steps(describe, request.groups), context)
    return DescribeShareGroupOffsetsResponse(groups=groups)


def _described(
    services: Services, context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup
) -> Steps[DescribeShareGroupOffsetsResponseGroup]:
    if not services.cluster.features.get(SHARE_VERSION, 0):
        return DescribeShareGroupOffsetsResponseGroup(
            group_id=group.group_id, error_code=ErrorCode.UNSUPPORTED_VERSION
        )
    return (yield from services.group_coordinator.share.offsets.describe(context, group))
