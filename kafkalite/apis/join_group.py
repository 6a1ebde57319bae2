"""JoinGroup: become a member of a group of the classic protocol, or stay one through a rebalance.

v0 has no rebalance timeout, v4 gives an id first (KIP-394), v5 knows static members (KIP-345), v7
may lack a protocol name, v9 tells a returning leader not to assign (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.log.errors import TakesLong
from kafkalite.requests.large_groups import steps_in_turn
from kafkalite.requests.parked import response_of
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

_NULL_PROTOCOL_NAME_SINCE: Final = 7


async def handle(
    services: Services, context: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse:
    """Answered when all members have joined, or the rebalance timeout is over."""
    classic = services.group_coordinator.classic
    try:
        parked = classic.join_group(context, request, briefly=True)
    except TakesLong:  # for a classic member of a large consumer group
        turns = services.group_coordinator.consumer.turns
        steps = classic.join_in_steps(context, request)
        parked = await steps_in_turn(turns, request.group_id, steps, context)
    response = await response_of(parked, context)
    context.heard_of(request.group_id, response.member_id)
    if context.api_version < _NULL_PROTOCOL_NAME_SINCE:
        response.protocol_name = response.protocol_name or ""
    elif response.error_code != ErrorCode.NONE or not response.protocol_name:
        response.protocol_name = None  # also of members who share a protocol without a name
    return response
