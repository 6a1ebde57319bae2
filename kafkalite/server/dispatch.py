"""From a frame to the chunks of its answer: decode, look up, check the version, call the handler.

An unknown API, a version that is not served and a body that does not parse have no answer in
Kafka's protocol: they raise ProtocolViolation, and the connection is closed. The one exception is
ApiVersions, with which a client finds out what it may ask (KIP-511).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.apis import APIS, Api, Handler
from kafkalite.requests.context import RequestContext
from kafkalite.server import known_answers, plain_commit, plain_fetch, single_batch
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ProtocolViolation, UnsupportedVersion
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.server.connection import Connection
    from kafkalite.services import Services


class Dispatcher:
    """Answers the frames of all connections of one broker."""

    def __init__(
        self, services: Services, measured: Callable[[Api, Handler], Handler] | None
    ) -> None:
        """`measured` puts something around each handler (the metrics)."""
        self._services = services
        self._measured = measured
        self._handlers: dict[int, Handler] = {}

    def straight(self, connection: Connection, frame: InMemory) -> bytes | list[Records] | None:
        """The answer to a request for which a short way is enough; None: ask `answer`."""
        if self._measured is not None:
            return None
        listener = connection.listener
        key = int.from_bytes(frame[:2])
        if key == ApiKey.PRODUCE:
            return single_batch.answer(self._services, listener.node_id, frame)
        if key == ApiKey.FETCH:
            return plain_fetch.answer(self._services, listener.node_id, frame)
        if key == ApiKey.OFFSET_COMMIT:
            return plain_commit.answer(self._services, listener.node_id, frame)
        return known_answers.known(self._services, listener.name, frame)

    async def answer(self, connection: Connection, frame: InMemory) -> list[Records]:
        """The answer's chunks; none for a Produce with acks=0.

        Raises ProtocolViolation, and CloseConnection where a handler has no other answer.
        """
        try:
            request = decode_request(frame)
        except UnsupportedVersion as error:
            if error.api_key != ApiKey.API_VERSIONS:
                raise
            return self._answer_unsupported_api_versions(error)
        api = APIS.get(request.api_key)
        version = request.api_version
        if api is None or not api.min_version <= version <= api.max_version:
            raise ProtocolViolation(_not_served(api, request.api_key, version))
        handle = self._handlers.get(request.api_key)
        if handle is None:
            handle = self._handlers[request.api_key] = self._load(api)
        listener = connection.listener
        context = RequestContext(
            listener.node_id,
            api.key,
            version,
            request.client_id or "",
            connection.client_host,
            listener.name,
            connection.last_active,
            connection,
        )
        response = await handle(self._services, context, request.body)
        if response is None:
            return []
        chunks = encode_response(api.key, version, request.correlation_id, response)
        if api.key is ApiKey.METADATA:
            known_answers.remember(self._services, listener.name, frame, response, chunks)
        return chunks

    def _load(self, api: Api) -> Handler:
        handle = api.load()
        return handle if self._measured is None else self._measured(api, handle)

    def _answer_unsupported_api_versions(self, error: UnsupportedVersion) -> list[Records]:
        from kafkalite.apis.api_versions import unsupported_version

        return encode_response(ApiKey.API_VERSIONS, 0, error.correlation_id, unsupported_version())


def _not_served(api: Api | None, key: int, version: int) -> str:
    if api is None:
        return f"API key {key} is not served"
    return (
        f"{api.key.name} version {version} is not served ({api.min_version} to {api.max_version})"
    )
