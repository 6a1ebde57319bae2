"""AlterShareGroupOffsets (key 91), version 0: start offsets of a share group are set (KIP-932).

Only of a group without members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    await services.share.make_ready(context, (topic.topic_name for topic in request.topics))
    return await services.group_coordinator.share.offsets.alter(context, request)
