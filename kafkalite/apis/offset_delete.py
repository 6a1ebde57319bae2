"""OffsetDelete: forget offsets of topics that no member of the group subscribes to (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    return services.group_coordinator.offset_router.delete(context, request)
