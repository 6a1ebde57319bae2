"""From a frame to the chunks of its response: parse, pass the gates, handle, build.

This is the only way through the broker. An unknown API, a version that is not served and a body
that does not parse have no response in Kafka's protocol: they raise ProtocolViolation, and the
connection is closed. The table marks the one exception (`answers_any_version`): ApiVersions, with
which a client finds out what it may ask (KIP-511).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import trio

from kafkalite.apis import Api, Handler, apis_of
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import in_thread
from kafkalite.requests.request_memory import RequestMemory
from kafkalite.requests.slices import briefly_or_in_slices, has_many_within, in_slices, let_go
from kafkalite.requests.suspension import ResponseCoroutine, has_to_wait
from kafkalite.server.gates import Gates
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_response
from kafkalite.wire.errors import InvalidMessage, Malformed, ProtocolViolation, Unbuilt
from kafkalite.wire.fields import InMemory, Records, most_memory
from kafkalite.wire.headers import read_header
from kafkalite.wire.parse_support import ManyElements
from kafkalite.wire.rows import LargeResponse, row_of

if TYPE_CHECKING:
    from kafkalite.services import Services


class Asker(Protocol):
    """A connection, as far as dispatch needs it."""

    @property
    def context(self) -> RequestContext: ...
    @property
    def last_active(self) -> float: ...


class Route:
    """The way of one API's requests in one version: its codec, and its handler behind the gates."""

    __slots__ = ("api", "codec", "handle", "joins_writes")

    def __init__(self, api: Api, api_version: int, handle: Handler) -> None:
        self.api = api
        self.codec = codec_of(api.key, api_version, rows=api.rows)
        self.handle = handle
        # True if nothing else of the logs is looked at than their ends.
        self.joins_writes = api.key is ApiKey.PRODUCE


class Dispatcher:
    """Responds to the frames of all connections of one broker."""

    def __init__(
        self,
        services: Services,
        gates: Gates | None = None,
        forward: Callable[[Api], Handler] | None = None,
        *,
        loads_in_thread: bool = False,
    ) -> None:
        """`forward` makes the handler of what controllers in other processes decide.

        `loads_in_thread`: a handler that is needed for the first time is imported in a thread. A
        user's own run of trio may have another clock, which does not wait for threads.
        """
        self._services = services
        self._forward = forward
        self._loads_in_thread = loads_in_thread
        self._gates = gates or Gates()
        self._memory = RequestMemory()
        self._joined = services.joined_writes
        self._apis = apis_of(services.config.release)
        # Filled by the first request: handlers behind their gates by API key, routes by
        # (API key << 16) + version.
        self._handlers: dict[int, Handler] = {}
        self._routes: dict[int, Route] = {}

    def set_gates(self, gates: Gates) -> None:
        """Have other gates from the next request on."""
        self._gates = gates
        self._handlers.clear()
        self._routes.clear()

    def respond(self, connection: Asker, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The response's chunks, none for a Produce with acks=0; or a coroutine of them.

        The coroutine belongs to a handler that has to wait (requests/suspension.py says how). Both
        raise ProtocolViolation, and CloseConnection where a handler has no other response.
        """
        api_key, version, correlation_id, client_id_size = read_header(frame)
        route = self._routes.get((api_key << 16) + version)
        if route is None:
            api = self._apis.get(api_key)
            if api is None:
                raise ProtocolViolation(f"API key {api_key} is not served")
            is_served = api.min_version <= version <= api.max_version
            if not is_served and not api.answers_any_version:
                raise ProtocolViolation(
                    f"{api.key.name} version {version} is not served "
                    f"({api.min_version} to {api.max_version})"
                )
            if self._loads_in_thread and not api.is_loaded:
                return self._respond_when_loaded(connection, api, frame)
            if not is_served:
                return encode_response(api.key, 0, correlation_id, api.unsupported_version())
            route = self._add_route(api, version)
        context = connection.context
        context.api_key = route.api.key
        context.api_version = version
        context.correlation_id = correlation_id
        context.received_at = connection.last_active
        context.request_bytes = len(frame)
        try:
            client_id, request = route.codec.parse(frame, client_id_size)
        except (ManyElements, Malformed):
            return self._respond_when_there_is_room(route, context, correlation_id, frame)
        context.client_id = client_id or ""
        if route.api.waits:
            return self._respond_in_task(route, context, correlation_id, request)
        joined = self._joined
        if route.joins_writes:
            joined.latest = None
        elif joined:
            joined.settle()
        response = route.handle(self._services, context, request)
        if has_to_wait(response):
            return self._respond_later(route, context, correlation_id, request, response)
        try:
            chunks = [] if response is None else route.codec.build(correlation_id, response)
        except Unbuilt:
            return _respond_oddly(route, context, correlation_id, request, response)
        if route.joins_writes and joined.latest is not None:
            joined.latest.responded(
                context.connection, chunks, route.codec, correlation_id, response
            )
        return chunks

    async def _respond_when_loaded(
        self, connection: Asker, api: Api, frame: InMemory
    ) -> list[Records]:
        """Respond to the first request of an API, whose handler takes up to 100 ms to import."""
        connection.context.api_key = api.key
        await connection.context.connection.move_to_task()
        await in_thread(api.load)
        response = self.respond(connection, frame)
        return response if isinstance(response, list) else await response

    async def _respond_in_task(
        self, route: Route, context: RequestContext, correlation_id: int, request: Any
    ) -> list[Records]:
        await context.connection.move_to_task()
        handling = route.handle(self._services, context, request)
        return await self._respond_later(route, context, correlation_id, request, handling)

    async def _respond_later(
        self,
        route: Route,
        context: RequestContext,
        correlation_id: int,
        request: Any,
        handling: Any,
    ) -> list[Records]:
        response = await handling
        self._joined.settle()  # it may be sent at once
        if response is None:
            return []
        try:
            if type(response) is LargeResponse:
                steps = route.codec.build_in_slices(correlation_id, response.row)
                chunks = await briefly_or_in_slices(steps, context)
                letting_go, response = let_go(response.row), None
                await briefly_or_in_slices(letting_go, context)
                return chunks
            if not route.api.rows and has_many_within(response):
                return await briefly_or_in_slices(
                    route.codec.build_in_slices(correlation_id, response), context
                )
            return route.codec.build(correlation_id, response)
        except Unbuilt:
            return await _respond_oddly(route, context, correlation_id, request, response)

    async def _respond_when_there_is_room(
        self, route: Route, context: RequestContext, correlation_id: int, frame: InMemory
    ) -> list[Records]:
        """Respond to a huge request, once others have given back the memory that it may take."""
        await context.connection.move_to_task()
        async with self._memory.taken(most_memory(len(frame))):
            return await self._respond_in_slices(route, context, correlation_id, frame)

    async def _respond_in_slices(
        self, route: Route, context: RequestContext, correlation_id: int, frame: InMemory
    ) -> list[Records]:
        """Respond to a huge request while others have their turns, or say what is wrong with it."""
        try:
            client_id, request = await in_slices(route.codec.parse_in_slices(frame), context)
        except Malformed:
            raise await trio.to_thread.run_sync(route.codec.explain, frame) from None
        context.client_id = client_id or ""
        response: Any = route.handle(self._services, context, request)
        if has_to_wait(response):
            response = await response
        if response is None:
            return []
        row = row_of(response)
        try:
            chunks = await in_slices(route.codec.build_in_slices(correlation_id, row), context)
        except Unbuilt:
            chunks = await _respond_oddly(route, context, correlation_id, request, row)
        letting_go = let_go(request, row)
        del request, response, row
        await in_slices(letting_go, context)
        return chunks

    def _add_route(self, api: Api, version: int) -> Route:
        handle = self._handlers.get(api.key)
        if handle is None:
            handle = self._handlers[api.key] = self._gates.around(api, self._load(api))
        route = Route(api, version, handle)
        self._routes[(api.key << 16) + version] = route
        return route

    def _load(self, api: Api) -> Handler:
        if api.forwarded and self._forward is not None:
            return self._forward(api)
        return api.load()


async def _respond_oddly(
    route: Route, context: RequestContext, correlation_id: int, request: Any, response: Any
) -> list[Records]:
    """Respond with values that the generated builder does not know, or say that something went
    wrong where the response cannot be sent."""
    await context.connection.move_to_task()
    declared = partial(route.codec.build_declared, correlation_id, row_of(response))
    try:
        return await in_thread(declared)
    except InvalidMessage as error:
        found = error
    from kafkalite.server.unsendable import sendable  # a start has no need of it

    steps = sendable(route.api, context, request, found)
    instead = await briefly_or_in_slices(steps, context)
    if instead is None:
        return []
    steps = route.codec.build_in_slices(correlation_id, instead)
    return await briefly_or_in_slices(steps, context)
