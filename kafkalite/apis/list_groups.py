"""ListGroups: the groups that the node asked coordinates.

v4 filters by state (KIP-518), v5 by type (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.slices import briefly_or_in_slices
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ListGroupsRequest
) -> ListGroupsResponse:
    listing = services.group_coordinator.administration.list_groups(
        context, request.states_filter, request.types_filter
    )
    try:
        return ListGroupsResponse(groups=await briefly_or_in_slices(listing, context))
    except KafkaError as refused:
        return ListGroupsResponse(error_code=refused.code)
