"""DescribeShareGroupOffsets (key 90), versions 0-1: where share groups are with partitions
(KIP-932).

No topics at all stands for all of a group's. v1 adds the lag (KIP-1226).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.requests.slices import in_slices, mapped_in_steps
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
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
    offsets = services.group_coordinator.share.offsets
    seen_here = offsets.seen_here
    if seen_here is not None:
        describe = partial(offsets.describe, context, seen=seen_here)
        groups = await in_slices(mapped_in_steps(describe, request.groups), context)
        return DescribeShareGroupOffsetsResponse(groups=groups)
    described: list[DescribeShareGroupOffsetsResponseGroup] = []
    for group in request.groups:
        seen = await offsets.seen(context, group)
        described.append(await in_slices(offsets.describe(context, group, seen), context))
    return DescribeShareGroupOffsetsResponse(groups=described)
