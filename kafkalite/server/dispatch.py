"""From a frame to the chunks of its response: parse, pass the gates, handle, build.

This is the only way through the broker. An unknown API, a version that is not served and a body that
does not parse have no response in Kafka's protocol: they raise ProtocolViolation, and the connection is
closed. The table marks the one exception (`answers_any_version`): ApiVersions, with which a client finds
out what it may ask (KIP-511).
"""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol

from kafkalite.apis import APIS, Api, Handler
from kafkalite.requests.context import RequestContext
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server import known_answers, plain_commit, plain_fetch, single_batch
from kafkalite.server.gates import Gates
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_request, encode_response
from kafkalite.wire.errors import ProtocolViolation, UnsupportedVersion
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.server.listener import Listener
    from kafkalite.services import Services


class Asker(Protocol):
    """A connection, as far as dispatch needs it."""

    context: RequestContext
    listener: Listener
    last_active: float


class Dispatcher:
    """Responds to the frames of all connections of one broker."""

    def __init__(self, services: Services, gates: Gates | None = None) -> None:
        self._services = services
        self._gates = gates or Gates()
        self._handlers: dict[int, Handler] = {}

    def set_gates(self, gates: Gates) -> None:
        """Have other gates from the next request on."""
        self._gates = gates
        self._handlers.clear()

    def respond(self, connection: Asker, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The response's chunks, none for a Produce with acks=0; or a coroutine of them.

        The coroutine belongs to a handler that has to wait (requests/suspension.py says how). Both
        raise ProtocolViolation, and CloseConnection where a handler has no other response.
        """
        if (quick := self._short(connection, frame)) is not None:
            return quick
        try:
            request = decode_request(frame)
        except UnsupportedVersion as error:
            return _unsupported_version(error)
        api = APIS.get(request.api_key)
        version = request.api_version
        if api is None or not api.min_version <= version <= api.max_version:
            raise ProtocolViolation(_not_served(api, request.api_key, version))
        handle = self._handlers.get(request.api_key)
        if handle is None:
            handle = self._handlers[api.key] = self._gates.around(api, api.load())
        context = connection.context
        context.api_key = api.key
        context.api_version = version
        context.client_id = request.client_id or ""
        context.correlation_id = request.correlation_id
        context.received_at = connection.last_active
        if api.waits:
            return self._respond_in_task(connection, handle, request, frame)
        response = handle(self._services, context, request.body)
        if isinstance(response, CoroutineType):
            return self._respond_later(connection, request, response, frame)
        return self._build(connection, request, response, frame)

    async def _respond_in_task(
        self, connection: Asker, handle: Handler, request: Request, frame: InMemory
    ) -> list[Records]:
        context = connection.context
        await context.connection.move_to_task()
        response = await handle(self._services, context, request.body)
        return self._build(connection, request, response, frame)

    async def _respond_later(
        self, connection: Asker, request: Request, handling: Any, frame: InMemory
    ) -> list[Records]:
        return self._build(connection, request, await handling, frame)

    def _build(
        self, connection: Asker, request: Request, response: Any, frame: InMemory
    ) -> list[Records]:
        if response is None:
            return []
        key = request.api_key
        chunks = encode_response(key, request.api_version, request.correlation_id, response)
        fault = self._gates.fault
        if key is ApiKey.METADATA and (fault is None or not fault.concerns(key)):
            known_answers.remember(
                self._services, connection.listener.name, frame, response, chunks
            )
        return chunks

    def _short(self, connection: Asker, frame: InMemory) -> list[Records] | None:
        if self._gates.count is not None:
            return None
        listener = connection.listener
        key = int.from_bytes(frame[:2])
        fault = self._gates.fault
        if fault is not None and fault.concerns(key):
            return None
        answer: bytes | None = None
        if key == ApiKey.PRODUCE:
            answer = single_batch.answer(self._services, listener.node_id, frame)
        elif key == ApiKey.FETCH:
            return plain_fetch.answer(self._services, listener.node_id, frame)
        elif key == ApiKey.OFFSET_COMMIT:
            answer = plain_commit.answer(self._services, listener.node_id, frame)
        elif key == ApiKey.METADATA:
            answer = known_answers.known(self._services, listener.name, frame)
        return None if answer is None else [answer]


def _unsupported_version(error: UnsupportedVersion) -> list[Records]:
    api = APIS.get(error.api_key)
    if api is None or not api.answers_any_version:
        raise error
    return encode_response(api.key, 0, error.correlation_id, api.unsupported_version())


def _not_served(api: Api | None, key: int, version: int) -> str:
    if api is None:
        return f"API key {key} is not served"
    return (
        f"{api.key.name} version {version} is not served ({api.min_version} to {api.max_version})"
    )
