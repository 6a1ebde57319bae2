"""DeleteGroups: forget empty groups with all their offsets."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kafkalite.requests.slices import in_slices, mapped
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    delete = services.group_coordinator.administration.delete_groups
    group_ids = dict.fromkeys(request.groups_names)
    results = await in_slices(
        mapped(lambda group_id: delete(context, [group_id]), group_ids), context
    )
    return DeleteGroupsResponse(results=list(chain.from_iterable(results)))
