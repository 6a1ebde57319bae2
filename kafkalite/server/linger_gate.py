"""The gate that holds an answer back until the share states that it rests on are written.

There is one only with `share.coordinator.append.linger.ms`. An update that waits for others counts
already (coordinators/share_coordinator/linger.py). If it cannot be written the connection is
closed, as the answer is made: the client asks again, and is told what is in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.coordinators.share_adapter import ShareServices
    from kafkalite.requests.context import RequestContext
    from kafkalite.server.gates import Gate
    from kafkalite.services import Services

_WRITES: Final = frozenset(
    {ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.WRITE_SHARE_GROUP_STATE}
)
_TELLS: Final = frozenset(
    {
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    }
)


def linger_gate(share: ShareServices) -> Gate:
    """The gate of a broker."""

    def gate(api: Api, handle: Handler) -> Handler:
        if not share.linger_seconds or api.key not in _WRITES | _TELLS:
            return handle
        tells = api.key in _TELLS

        def guarded(services: Services, context: RequestContext, request: Any) -> Any:
            asked_before = -1 if tells else _asked_count(share)
            response = handle(services, context, request)
            if has_to_wait(response) or _asked_count(share) != asked_before:
                return _when_written(share, context, response, asked_before)
            return response

        return guarded

    return gate


def _asked_count(share: ShareServices) -> int:
    return 0 if share.linger is None else share.linger.asked_count


async def _when_written(
    share: ShareServices, context: RequestContext, response: Any, asked_before: int
) -> Any:
    if has_to_wait(response):
        response = await response
    linger = share.linger
    if linger is not None and linger.batches and linger.asked_count != asked_before:
        batches = list(linger.batches)
        await context.connection.move_to_task()
        for batch in batches:
            await batch.done.wait()
        if not all(batch.is_written for batch in batches):
            raise CloseConnection("what is answered could not be written")
    return response
