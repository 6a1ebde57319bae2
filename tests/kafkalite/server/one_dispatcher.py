"""A dispatcher of a broker that is open and not served: frames in, responses out, without
sockets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import CoroutineType, SimpleNamespace
from typing import Any

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.requests.context import RequestContext
from kafkalite.server.dispatch import Dispatcher
from kafkalite.server.gates import Gates
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.message_codec import join


class OneDispatcher:
    """Asks for responses, as a connection does. Its requests never wait."""

    def __init__(self, broker: Broker, gates: Gates | None = None) -> None:
        self.broker = broker
        self.services = broker.services
        self.dispatcher = Dispatcher(broker.services, gates)

    def connection(self, listener_name: str = "PLAINTEXT") -> Any:
        context = RequestContext(
            node_id=1,
            api_key=ApiKey.API_VERSIONS,
            api_version=0,
            client_id="",
            client_host="127.0.0.1",
            listener_name=listener_name,
            received_at=0.0,
            connection=SimpleNamespace(),
        )
        return SimpleNamespace(context=context, last_active=0.0)

    def respond(self, frame: bytes | memoryview, listener_name: str = "PLAINTEXT") -> bytes:
        """The response's bytes, with their length before them."""
        chunks = self.dispatcher.respond(self.connection(listener_name), frame)
        assert not isinstance(chunks, CoroutineType), "it waits"
        return join(chunks)

    def ask(self, body: Any, key: ApiKey, version: int) -> Any:
        frame = join(encode_request(key, version, 7, "me", body))[4:]
        return decode_response(key, version, self.respond(frame)[4:])[1]


@contextmanager
def one_dispatcher(
    properties: dict[str, str] | None = None, gates: Gates | None = None
) -> Iterator[OneDispatcher]:
    """With a broker of its own in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        own = {"log.dirs": directory, "listeners": "PLAINTEXT://127.0.0.1:0"}
        with Broker(BrokerConfig(own | (properties or {}))) as broker:
            yield OneDispatcher(broker, gates)
