"""A client of secured listeners that speaks the protocol itself, byte by byte."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import trio

from kafkalite.security.acls import Operation, Permission, ResourceType
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
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


@asynccontextmanager
async def users_of_acls() -> AsyncIterator[Users]:
    """Users of a broker with ACLs and the topic `secret`: only root may do anything."""
    async with broker(WITH_ACLS) as running, Users(running) as users:
        running.create_topic("secret", partitions=1)
        yield users


def allow(operation: Operation, kind: ResourceType, name: str, **changes: Any) -> AclCreation:
    """An entry that lets alice do something."""
    values: dict[str, Any] = {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission_type": Permission.ALLOW,
        **changes,
    }
    return AclCreation(**values)


async def grant(users: Users, *acls: AclCreation) -> None:
    root = await users.user("root")
    answer = await root.ask(CreateAclsRequest(creations=list(acls)))
    assert [each.error_code for each in answer.results] == [0] * len(acls)
