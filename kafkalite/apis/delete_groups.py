"""DeleteGroups: forget empty groups with all their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    results = services.group_coordinator.administration.delete_groups(context, request.groups_names)
    return DeleteGroupsResponse(results=results)
