"""OffsetDelete: forget offsets of topics that nobody in the group subscribes to (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    return await services.group_coordinator.offset_delete(context, request)
