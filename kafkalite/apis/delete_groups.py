"""DeleteGroups: forget empty groups with all their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.slices import in_slices, mapped
from kafkalite.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    administration = services.group_coordinator.administration

    def delete(group_id: str) -> tuple[str, DeletableGroupResult | None]:
        """None for a share group, whose states go first."""
        if administration.is_share_group(context, group_id):
            return group_id, None
        (result,) = administration.delete_groups(context, [group_id])
        return group_id, result

    group_ids = dict.fromkeys(request.groups_names)
    results = dict(await in_slices(mapped(delete, group_ids), context))
    for group_id in [group_id for group_id, result in results.items() if result is None]:
        results[group_id] = await administration.delete_share_group(context, group_id)
    return DeleteGroupsResponse(results=[each for each in results.values() if each is not None])
