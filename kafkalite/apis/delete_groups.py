"""DeleteGroups: forget empty groups with all their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    results = await services.group_coordinator.delete_groups(context, request.groups_names)
    return DeleteGroupsResponse(results=results)
