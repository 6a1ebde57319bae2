"""DeleteGroups: forget empty groups with all their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.slices import Steps, in_slices
from kafkalite.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

if TYPE_CHECKING:
    from kafkalite.group_coordinator.admin_api import GroupAdministration
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    administration = services.group_coordinator.administration
    results, share_groups = await in_slices(
        _delete(administration, context, request.groups_names), context
    )
    for place in share_groups:
        group_id = results[place].group_id
        results[place] = await administration.delete_share_group(context, group_id)
    return DeleteGroupsResponse(results=results)


def _delete(
    administration: GroupAdministration, context: RequestContext, group_ids: list[str]
) -> Steps[tuple[list[DeletableGroupResult], list[int]]]:
    """A result for each group, and the places of the share groups, whose states go first."""
    results: list[DeletableGroupResult] = []
    share_groups: list[int] = []
    seen: set[str] = set()
    for group_id in group_ids:
        yield
        if group_id in seen:
            continue
        seen.add(group_id)
        if administration.is_share_group(context, group_id):
            share_groups.append(len(results))
            results.append(DeletableGroupResult(group_id=group_id))
        else:
            results.append((yield from administration.deleting_group(context, group_id)))
    return results, share_groups
