"""A client of secured listeners that speaks the protocol itself, byte by byte."""

from __future__ import annotations

from typing import Any, Self

import trio

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.kafkalite.conftest import Client

PLAIN_LINE = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'user_root="r" user_alice="a" user_bob="b";'
)
SASL_LISTENER = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN_LINE,
    "connection.failed.authentication.delay.ms": "10",
}
WITH_ACLS = {
    **SASL_LISTENER,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
}


async def log_in(client: Client, user: str, password: str, version: int = 2) -> Any:
    """The answer to PLAIN's token."""
    assert (await client.ask(SaslHandshakeRequest("PLAIN"), 1)).error_code == ErrorCode.NONE
    token = f"\0{user}\0{password}".encode()
    return await client.ask(SaslAuthenticateRequest(token), version)


class Users:
    """Connections to one broker, each logged in as a user."""

    def __init__(self, running: broker) -> None:
        self._broker = running
        self._open: list[trio.SocketStream] = []

    async def connect(self) -> Client:
        host, _, port = self._broker.bootstrap.rpartition(":")
        stream = await trio.open_tcp_stream(host, int(port))
        self._open.append(stream)
        return Client(stream)

    async def user(self, name: str) -> Client:
        client = await self.connect()
        assert (await log_in(client, name, name[0])).error_code == ErrorCode.NONE
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in self._open:
            await trio.aclose_forcefully(stream)
