"""SyncGroup: the leader hands in the assignment, and every member gets its share.

v3 knows static members (KIP-345), v5 names the protocol that was chosen (KIP-559).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.group_coordinator.classic_member import sync_refused
from kafkalite.requests.parked import response_of
from kafkalite.requests.slices import AT_ONCE, in_slices
from kafkalite.wire.api_keys import SYNC_GROUP_PROTOCOL_SINCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sync_group import SyncGroupRequestRow, SyncGroupResponseRow

if TYPE_CHECKING:
    from kafkalite.group_coordinator.pending_response import Parked
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: SyncGroupRequestRow
) -> SyncGroupResponseRow | Coroutine[Any, Any, SyncGroupResponseRow]:
    """Answered when the leader has synced."""
    _, _, _, _, protocol_type, protocol_name, assignments = request
    if context.api_version >= SYNC_GROUP_PROTOCOL_SINCE and None in (protocol_type, protocol_name):
        return sync_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if len(assignments) > AT_ONCE:
        return _sync_slowly(services, context, request)
    parked = _sync(services, context, request)
    return parked.response_now if parked.is_answered else response_of(parked, context)


def _sync(
    services: Services, context: RequestContext, request: SyncGroupRequestRow
) -> Parked[SyncGroupResponseRow]:
    parked = services.group_coordinator.classic.sync_group(context, request)
    if not parked.is_answered or parked.response_now[1] == ErrorCode.NONE:
        context.heard_of(request[0], request[2])
    return parked


async def _sync_slowly(
    services: Services, context: RequestContext, request: SyncGroupRequestRow
) -> SyncGroupResponseRow:
    """With very many assignments, which may be of no members."""
    steps = services.group_coordinator.classic.for_members(context, request)
    parked = _sync(services, context, await in_slices(steps, context))
    return await response_of(parked, context)
