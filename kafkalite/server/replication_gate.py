"""The gate that holds a coordinator's answer back until all in-sync replicas have what it rests on.

A coordinator decides and writes at once. Its answer, even to a query, depends on everything that
its partition holds by then. If the answer were sent sooner and the broker lost, the next
coordinator would not know what a client was told. In one process there is no such
gate: its nodes share their logs. Source: CoordinatorRuntime, TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import trio

from kafkalite.coordinators.standing import Standing
from kafkalite.requests.suspension import has_to_wait
from kafkalite.server.coordinator_refusals import GUARDS, Guard
from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.requests.context import RequestContext
    from kafkalite.server.gates import Gate
    from kafkalite.services import Services


def replication_gate(patience_seconds: Mapping[str, float]) -> Gate:
    """The gate of a broker. An answer waits for so long at most, by internal topic."""

    def gate(api: Api, handle: Handler) -> Handler:
        guard = GUARDS.get(api.key)
        if guard is None:
            return handle

        def guarded(services: Services, context: RequestContext, request: Any) -> Any:
            standings = _standings(services, guard.topic, guard.keys(request))
            response = handle(services, context, request)
            if has_to_wait(response) or not _may_go(standings.values()):
                patience = patience_seconds[guard.topic]
                return _when_replicated(guard, context, response, standings, patience)
            return response

        return guarded

    return gate


def _standings(
    services: Services, topic_name: str, keys: Iterable[str] | None
) -> dict[str, Standing]:
    """The partitions of keys, such as group ids, that are coordinated here, by key.

    For all keys, None, all partitions that are coordinated here, by their numbers.
    """
    topic = services.topics.get(topic_name)
    if topic is None or not topic.partitions:
        return {}
    if keys is None:
        named = ((str(each.index), each) for each in topic.partitions)
    else:
        named = ((each, topic.coordinating(each)) for each in keys)
    return {key: Standing(each) for key, each in named if each.coordinated_here >= 0}


def _may_go(standings: Collection[Standing]) -> bool:
    """True if the answer may be sent at once."""
    for each in standings:
        each.decided()
    return all(each.verdict is ErrorCode.NONE for each in standings)


async def _when_replicated(
    guard: Guard,
    context: RequestContext,
    response: Any,
    standings: Mapping[str, Standing],
    patience_seconds: float,
) -> Any:
    waiting = standings.values()
    if has_to_wait(response):
        response = await response
        if _may_go(waiting):
            return response
    await context.connection.wait_until(
        lambda: all(each.verdict is not None for each in waiting),
        [each.partition.watchers for each in waiting],
        trio.current_time() + patience_seconds,
        answer_early=False,
    )
    failed: dict[str, ErrorCode] = {}
    for key, each in standings.items():
        verdict = each.verdict
        if verdict is not ErrorCode.NONE:
            failed[key] = ErrorCode.COORDINATOR_NOT_AVAILABLE if verdict is None else verdict
    return guard.refuse(context, response, failed) if failed else response
