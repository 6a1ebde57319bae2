"""Logging in over a real connection, and every way of not doing so."""

import logging

import pytest
import trio

from kafkalite.testing import broker
from kafkalite.wire.codec import encode_request
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.kafkalite.security.secured import SASL_LISTENER, Users, log_in


async def test_requests_are_answered_after_the_login() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.user("alice")
        assert (await client.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE


async def test_a_request_before_the_login_closes() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        await client.send(MetadataRequest(topics=None))
        assert await client.is_closed()


async def test_a_request_instead_of_a_token_is_refused_and_closes() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = await client.ask(MetadataRequest(topics=None))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert not answer.brokers
        assert await client.is_closed()


async def test_a_wrong_password_is_answered_late_and_closes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    configs = {**SASL_LISTENER, "connection.failed.authentication.delay.ms": "200"}
    async with broker(configs) as running, Users(running) as users:
        client = await users.connect()
        began = trio.current_time()
        with caplog.at_level(logging.INFO):
            answer = await log_in(client, "alice", "secret-but-wrong")
            assert trio.current_time() - began >= 0.2
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert await client.is_closed()
        assert "secret-but-wrong" not in caplog.text
        assert [record.levelname for record in caplog.records].count("WARNING") == 1


async def test_the_second_handshake_authenticates_again() -> None:
    configs = {**SASL_LISTENER, "connections.max.reauth.ms": "60000"}
    async with broker(configs) as running, Users(running) as users:
        client = await users.connect()
        assert (await log_in(client, "alice", "a")).session_lifetime_ms == 60_000
        assert (await log_in(client, "alice", "a")).error_code == ErrorCode.NONE
        # Within a second that is one too many.
        answer = await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE


async def test_a_session_without_an_end_is_not_begun_again() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.user("alice")
        answer = await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE


async def test_the_principal_may_not_change() -> None:
    configs = {**SASL_LISTENER, "connections.max.reauth.ms": "60000"}
    async with broker(configs) as running, Users(running) as users:
        client = await users.user("alice")
        answer = await log_in(client, "bob", "b")
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "Cannot change principals" in answer.error_message
        assert await client.is_closed()


async def test_a_session_that_has_ended_closes() -> None:
    configs = {**SASL_LISTENER, "connections.max.reauth.ms": "100"}
    async with broker(configs) as running, Users(running) as users:
        client = await users.user("alice")
        assert (await client.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE
        await trio.sleep(0.15)
        await client.send(MetadataRequest(topics=None))
        assert await client.is_closed()


async def test_an_oversized_token_closes() -> None:
    configs = {**SASL_LISTENER, "sasl.server.max.receive.size": "1000"}
    async with broker(configs) as running, Users(running) as users:
        client = await users.connect()
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        await client.send(SaslAuthenticateRequest(b"x" * 2000), 2)
        assert await client.is_closed()
        # After the login frames may be as large as any.
        client = await users.user("alice")
        wide = MetadataRequest(topics=[])
        chunks = encode_request(3, 8, 1, "c" * 3000, wide)
        await client.stream.send_all(b"".join(map(bytes, chunks)))
        assert await client.frame()


async def test_an_oversized_token_closes_when_logging_in_again() -> None:
    configs = {
        **SASL_LISTENER,
        "sasl.server.max.receive.size": "1000",
        "connections.max.reauth.ms": "60000",
    }
    async with broker(configs) as running, Users(running) as users:
        client = await users.user("alice")
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        await client.stream.send_all((2000).to_bytes(4))  # and nothing of the frame
        assert await client.is_closed()


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0\0\0\4abcd",
        b"\xff" * 64,
    ],
)
async def test_garbage_closes_and_others_are_served(garbage: bytes) -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        other = await users.user("alice")
        client = await users.connect()
        await client.stream.send_all(garbage)
        await client.stream.send_eof()
        assert await client.is_closed()
        assert (await other.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE


async def test_tokens_without_headers() -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        client = await users.connect()
        await client.ask(SaslHandshakeRequest("PLAIN"), 0)
        token = b"\0alice\0a"
        await client.stream.send_all(len(token).to_bytes(4) + token)
        assert await client.frame() == b""
        assert (await client.ask(MetadataRequest(topics=None))).error_code == ErrorCode.NONE
