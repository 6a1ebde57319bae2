"""Handlers of what only the controllers decide, for a broker that is none (KIP-590).

A request that has passed the gates goes to the active controller as the client sent it, in an
Envelope, and its answer comes back the same way. What is about this broker alone (its loggers) is
done here. Source: ForwardingManager, ConfigAdminManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkalite.apis import Api, Handler
from kafkalite.cluster.image import BROKER_LOGGER_RESOURCE
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.message_codec import join

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

_LENGTH_BYTES: Final = 4
_OF_CONFIGS: Final = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})


class Forward(Protocol):
    """Sends a client's frame to the active controller (quorum/forwarding.py)."""

    async def __call__(
        self,
        frame: bytes,
        client_host: str,
        *,
        principal_type: str,
        principal_name: str,
        token_authenticated: bool,
    ) -> bytes:
        """The answer's frame. Raises KafkaError with what the client is told instead."""
        ...


def forwarded(forward: Forward) -> Callable[[Api], Handler]:
    """Makes the handlers of forwarded APIs."""

    def handler(api: Api) -> Handler:
        async def handle(services: Services, context: RequestContext, request: Any) -> Any:
            if api.key in _OF_CONFIGS and _is_of_loggers(request):
                response: Any = api.load()(services, context, request)
                if has_to_wait(response):
                    response = await response
                return response
            await context.connection.move_to_task()
            version = context.api_version
            chunks = encode_request(api.key, version, 0, context.client_id, request)
            frame = join(chunks)[_LENGTH_BYTES:]
            try:
                answer = await forward(
                    frame,
                    context.client_host,
                    principal_type=context.principal.type,
                    principal_name=context.principal.name,
                    token_authenticated=context.principal.token_authenticated,
                )
            except KafkaError as error:
                raise CloseConnection(
                    f"{api.key.name} version {version} was not forwarded: {error.code.name}"
                ) from None
            return decode_response(api.key, version, answer)[1]

        return handle

    return handler


def _is_of_loggers(request: Any) -> bool:
    """True if all that is to be changed are loggers of a broker."""
    return bool(request.resources) and all(
        each.resource_type == BROKER_LOGGER_RESOURCE for each in request.resources
    )
