"""ConsumerGroupHeartbeat: the one request of the consumer protocol's members (KIP-848).

v1 has subscriptions by regular expression, and members that make their own ids (KIP-1082).
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkalite.group_coordinator.expressions import has_looked_at, look_at
from kafkalite.log.errors import TakesLong
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.large_groups import in_turn
from kafkalite.requests.large_requests import with_message
from kafkalite.requests.slices import COUNTED_FROM_BYTES, has_many
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestRow,
    ConsumerGroupHeartbeatResponseRow,
)
from kafkalite.wire.rows import LargeResponse, SharedResponse

if TYPE_CHECKING:
    from kafkalite.group_coordinator.consumer_api import ConsumerGroupRequests
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

Brief: TypeAlias = "ConsumerGroupHeartbeatResponseRow | SharedResponse"
Answer: TypeAlias = "ConsumerGroupHeartbeatResponseRow | SharedResponse | LargeResponse"


def handle(
    services: Services, context: RequestContext, request: ConsumerGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    stale = services.group_coordinator.consumer.stale_expressions(request[0], context.node_id)
    if request[7] or stale:
        new = [
            each
            for each in {*stale, request[7]}
            if each and not has_looked_at(each, _topic_names(services))
        ]
        if new:
            return _answer_after_look(services, context, request, new)
    return _answer_looked_at(services, context, request)


async def _answer_after_look(
    services: Services,
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequestRow,
    expressions: Sequence[str],
) -> Answer:
    """A thread looks at regular expressions and the topics that they match."""
    await context.connection.move_to_task()
    names = list(_topic_names(services))
    for expression in expressions:
        await in_disk_thread(partial(look_at, expression, names))
    answer = _answer_looked_at(services, context, request)
    return await answer if isinstance(answer, Coroutine) else answer


def _topic_names(services: Services) -> Iterable[str]:
    return (topic.name for topic in services.topics.all())


def _answer_looked_at(
    services: Services, context: RequestContext, request: ConsumerGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    if context.request_bytes >= COUNTED_FROM_BYTES and has_many(request):
        answer = partial(_answer, services, context, request)
        return with_message(ConsumerGroupHeartbeatRequest, request, context, answer)
    return _answer(services, context, request, None)


def _answer(
    services: Services,
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequestRow,
    message: ConsumerGroupHeartbeatRequest | None,
) -> Answer | Coroutine[Any, Any, Answer]:
    groups = services.group_coordinator.consumer
    try:
        return _heard_of(
            context, request, groups.heartbeat(context, request, message, briefly=True)
        )
    except TakesLong:
        return _answer_in_turn(groups, context, request, message)


async def _answer_in_turn(
    groups: ConsumerGroupRequests,
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequestRow,
    message: ConsumerGroupHeartbeatRequest | None,
) -> Answer:
    response = await in_turn(groups, context, request, message)
    answer = _heard_of(context, request, response)
    return answer if isinstance(answer, SharedResponse) else LargeResponse(answer)


def _heard_of(
    context: RequestContext, request: ConsumerGroupHeartbeatRequestRow, response: Brief
) -> Brief:
    row = response.row if isinstance(response, SharedResponse) else response
    context.heard_of(request[0], row[3])
    return response
