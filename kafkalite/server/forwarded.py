"""Handlers of what only the controllers decide, for a broker that is none (KIP-590).

A request that has passed the gates goes to the active controller as the client sent it, in an
Envelope, and its answer comes back the same way. What is about this broker alone is done here: its
loggers are changed, and configs of brokers are checked before they are sent on. So is what only it
can tell: whether a connection may ask for tokens. Source: ForwardingManager, ConfigAdminManager,
KafkaApis.handleCreateTokenRequest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kafkalite.apis import Api, Handler
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.disk_threads import in_thread
from kafkalite.requests.refusals import refuse_in_steps
from kafkalite.requests.request_memory import give_back
from kafkalite.requests.slices import in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import BROKER_LOGGER_RESOURCE, ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.message_codec import join

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

T = TypeVar("T")

_LENGTH_BYTES: Final = 4
# Up to here messages of the smallest elements take some milliseconds.
_IN_THREAD_FROM_BYTES: Final = 16_384
# Its type and name.
_Resource = tuple[int, str]
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
        """The answer's frame. Raises KafkaError where there is none."""
        ...


def forwarded(forward: Forward) -> Callable[[Api], Handler]:
    """Makes the handlers of forwarded APIs."""

    def handler(api: Api) -> Handler:
        async def handle(services: Services, context: RequestContext, request: Any) -> Any:
            if api.key in _OF_CONFIGS:
                return await _altered(partial(send, context), api, services, context, request)
            refusal = api.refused(context, request)
            if has_to_wait(refusal):
                refusal = await refusal
            return await send(context, request) if refusal is None else refusal

        async def send(context: RequestContext, request: Any) -> Any:
            await context.connection.move_to_task()
            version = context.api_version

            def encoded() -> bytes:
                chunks = encode_request(api.key, version, 0, context.client_id, request)
                return join(chunks)[_LENGTH_BYTES:]

            frame = await _worked(context.request_bytes, encoded)
            give_back()
            try:
                answer = await forward(
                    frame,
                    context.client_host,
                    principal_type=context.principal.type,
                    principal_name=context.principal.name,
                    token_authenticated=context.principal.token_authenticated,
                )
            except KafkaError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    refusing = refuse_in_steps(api.key, version, request, error.code)
                    return await in_slices(refusing, context)
                # The client is to ask again which versions there are.
                raise CloseConnection(
                    f"the controller does not know {api.key.name} version {version}"
                ) from None
            decoded = partial(decode_response, api.key, version, answer)
            _, response = await _worked(len(answer), decoded)
            return response

        return handle

    return handler


async def _worked(size: int, work: Callable[[], T]) -> T:
    """The result of work on a message of so many bytes: of a thread, if it would hold the loop."""
    return work() if size < _IN_THREAD_FROM_BYTES else await in_thread(work)


async def _altered(
    send: Callable[[Any], Awaitable[Any]],
    api: Api,
    services: Services,
    context: RequestContext,
    request: Any,
) -> Any:
    """The answer to a change of configs. The controllers are asked for what is not refused here."""
    here: dict[_Resource, Any] = {}
    answer: Any = None
    for is_logger, validate_only in ((True, request.validate_only), (False, True)):
        some = [
            each
            for each in request.resources
            if (each.resource_type == BROKER_LOGGER_RESOURCE) is is_logger
        ]
        if some:
            checked = replace(request, resources=some, validate_only=validate_only)
            response = api.load()(services, context, checked)
            answer = await response if has_to_wait(response) else response
            here |= {_resource(each): each for each in answer.responses}

    def goes_on(resource: Any) -> bool:
        known = here[_resource(resource)]
        return resource.resource_type != BROKER_LOGGER_RESOURCE and not known.error_code

    going = [each for each in request.resources if goes_on(each)]
    if going or answer is None:
        answer = await send(replace(request, resources=going))
        here |= {_resource(each): each for each in answer.responses}
    answer.responses = [here[_resource(each)] for each in request.resources]
    return answer


def _resource(of: Any) -> _Resource:
    return of.resource_type, of.resource_name
