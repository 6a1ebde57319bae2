"""The gates between a listener's connections and the requests."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.certificates import Authority
from tests.kafkalite.security.secured import SASL_LISTENER, Users, log_in

ALL = MetadataRequest(topics=None)


async def test_versions_may_be_asked_before_the_login() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        versions = await client.ask(ApiVersionsRequest("a", "1"), 3)
        assert {each.api_key for each in versions.api_keys} >= {17, 36, 29, 30, 31, 38, 39, 40, 41}
        assert (await log_in(client, "alice", "a")).error_code == ErrorCode.NONE


async def test_versions_before_the_login_are_checked_as_after_it() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        answer = await client.ask(ApiVersionsRequest("no spaces, please", "1"), 3)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert (await client.ask(ApiVersionsRequest("a", "1"), 3)).error_code == ErrorCode.NONE


async def test_a_version_of_the_future_is_answered_with_those_there_are() -> None:
    """KIP-511: the answer is of version 0, and names what to ask for."""
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        await client.stream.send_all(b"\0\0\0\x0a\0\x12\0\x63\0\0\0\x09\xff\xff")
        answer = await client.frame()
        assert answer[:4] == b"\0\0\0\x09"
        assert int.from_bytes(answer[4:6]) == ErrorCode.UNSUPPORTED_VERSION
        assert (await log_in(client, "alice", "a")).error_code == ErrorCode.NONE


async def test_without_sasl_no_login_is_needed() -> None:
    async with broker() as running, Users(running) as users:
        client = await users.connect()
        assert (await client.ask(ALL)).error_code == ErrorCode.NONE


class Tls:
    """A broker with TLS whose users are named by certificates, and one super user: alice."""

    def __init__(self, directory: Path) -> None:
        self._authority = Authority()
        self._file = directory / "client.pem"
        server = self._authority.server()
        self.configs = {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": server.key,
            "ssl.keystore.certificate.chain": server.certificate,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self._authority.certificate,
            "ssl.client.auth": "requested",
            "ssl.principal.mapping.rules": "RULE:^CN=([a-m].*?),.*$/$1/U",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ALICE",
        }

    @asynccontextmanager
    async def client(self, running: broker, name: str | None) -> AsyncIterator[Client]:
        context = ssl.create_default_context(cadata=self._authority.certificate)
        if name is not None:
            identity = self._authority.client(name)
            self._file.write_text(identity.certificate + identity.key)
            context.load_cert_chain(self._file)
        host, _, port = running.bootstrap.rpartition(":")
        async with await trio.open_tcp_stream(host, int(port)) as below:
            stream: Any = trio.SSLStream(below, context, server_hostname=host)
            await stream.do_handshake()
            yield Client(stream)


@pytest.mark.parametrize(("name", "seen"), [("alice", ["words"]), ("bob", []), (None, [])])
async def test_the_rules_name_the_user_of_a_certificate(
    tmp_path: Path, name: str | None, seen: list[str]
) -> None:
    tls = Tls(tmp_path)
    async with broker(tls.configs) as running, tls.client(running, name) as client:
        running.create_topic("words", partitions=1)
        assert [topic.name for topic in (await client.ask(ALL)).topics] == seen


async def test_a_certificate_that_no_rule_names_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tls = Tls(tmp_path)
    async with broker(tls.configs) as running, tls.client(running, "zoe") as client:
        with pytest.raises((trio.BrokenResourceError, AssertionError)):
            await client.ask(ALL)
        assert "failed authentication: No rules apply to CN=zoe" in caplog.text
        async with tls.client(running, "alice") as other:
            assert (await other.ask(ALL)).error_code == ErrorCode.NONE
