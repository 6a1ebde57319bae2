"""The gate that holds an answer back until the flushes that its request asked for are done.

With `flush.messages` an append is on the disk before it is answered, as in Kafka. Produce says so
for each partition (apis/produce.py). Everything else that writes, offsets, transactions, markers,
waits here. If the disk fails meanwhile the connection is closed, as the answer is made already: the
client asks again, and finds the log offline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.replica.flusher import Flusher
    from kafkalite.requests.context import RequestContext
    from kafkalite.server.gates import Gate
    from kafkalite.services import Services

# The one waits for each partition by itself, the other writes nothing.
_UNGUARDED: Final = (ApiKey.PRODUCE, ApiKey.FETCH)


def flush_gate(flusher: Flusher) -> Gate:
    """The gate of a broker."""

    def gate(api: Api, handle: Handler) -> Handler:
        if api.key in _UNGUARDED:
            return handle

        def guarded(services: Services, context: RequestContext, request: Any) -> Any:
            asked_before = flusher.asked_count
            response = handle(services, context, request)
            if has_to_wait(response) or flusher.asked_count != asked_before:
                return _when_flushed(flusher, context, response, asked_before)
            return response

        return guarded

    return gate


async def _when_flushed(
    flusher: Flusher, context: RequestContext, response: Any, asked_before: int
) -> Any:
    if has_to_wait(response):
        response = await response
    if flusher.asked_count != asked_before:
        logs = list(flusher.unsettled)
        await context.connection.move_to_task()
        if not await flusher.settled(logs):
            raise CloseConnection("the disk failed before what is answered was on it")
    return response
