"""ShareGroupHeartbeat (key 76), version 1: the one request of a share group's members (KIP-932)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkalite.log.errors import TakesLong
from kafkalite.requests.large_groups import in_turn
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequestRow,
    ShareGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import LargeResponse, SharedResponse

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_api import ShareGroupRequests
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

Answer: TypeAlias = "ShareGroupHeartbeatResponseRow | SharedResponse | LargeResponse"


def handle(
    services: Services, context: RequestContext, request: ShareGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    names = request[4]
    groups = services.group_coordinator.share
    if not names:  # nearly always
        return _answer(groups, context, request)
    return services.share.when_ready(context, names, lambda: _answer(groups, context, request))


def _answer(
    groups: ShareGroupRequests, context: RequestContext, request: ShareGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    try:
        return groups.heartbeat(context, request, briefly=True)
    except TakesLong:
        return _answer_in_turn(groups, context, request)


async def _answer_in_turn(
    groups: ShareGroupRequests, context: RequestContext, request: ShareGroupHeartbeatRequestRow
) -> Answer:
    answer = await in_turn(groups, context, request)
    return answer if isinstance(answer, SharedResponse) else LargeResponse(answer)
