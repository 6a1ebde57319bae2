"""DeleteShareGroupOffsets (key 92), version 0: a share group forgets topics (KIP-932).

Only of a group without members. A group that has states has the topic of the states, too: none is
made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    await context.connection.move_to_task()
    return await services.group_coordinator.share.offsets.delete(context, request)
