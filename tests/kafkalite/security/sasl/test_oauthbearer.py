"""OAUTHBEARER: the message around the token."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.sasl.mechanism import BadCredentials, SaslFailure
from kafkalite.security.sasl.oauthbearer import AcceptedToken, InvalidToken, OAuthBearerServer
from kafkalite.wire.errors import ProtocolViolation


def validate(token: str) -> AcceptedToken:
    if token == "narrow":
        raise InvalidToken("scope", status="insufficient_scope", scope="[a]")
    if token != "good":
        raise InvalidToken("no")
    return AcceptedToken("alice", 7_000)


def test_a_good_token_comes_in() -> None:
    server = OAuthBearerServer(validate)
    assert server.evaluate(b"n,,\x01auth=Bearer good\x01\x01") == b""
    assert (server.is_complete, server.user, server.credential_expiry_ms) == (True, "alice", 7_000)


def test_authorization_id_and_extensions() -> None:
    server = OAuthBearerServer(validate)
    server.evaluate(b"n,a=alice,\x01auth=bEaReR  good\x01trace=x y\x01\x01")
    assert server.is_complete


def test_a_refusal_is_told_twice() -> None:
    server = OAuthBearerServer(validate)
    assert server.evaluate(b"n,,\x01auth=Bearer bad\x01\x01") == b'{"status":"invalid_token"}'
    assert not server.is_complete
    with pytest.raises(SaslFailure, match="invalid_token"):
        server.evaluate(b"\x01")


def test_a_missing_scope_is_named() -> None:
    server = OAuthBearerServer(validate)
    answer = server.evaluate(b"n,,\x01auth=Bearer narrow\x01\x01")
    assert answer == b'{"status":"insufficient_scope", "scope":"[a]"}'


def test_after_a_refusal_another_token_may_come() -> None:
    server = OAuthBearerServer(validate)
    server.evaluate(b"n,,\x01auth=Bearer bad\x01\x01")
    server.evaluate(b"n,,\x01auth=Bearer good\x01\x01")
    assert server.is_complete


def test_another_authorization_id_is_refused() -> None:
    with pytest.raises(SaslFailure, match=r"\(bob\).*\(alice\)"):
        OAuthBearerServer(validate).evaluate(b"n,a=bob,\x01auth=Bearer good\x01\x01")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer go od\x01\x01",
        b"n,,\x01auth=\x01\x01",
        b"n,,\x01other=x\x01\x01",
        b"p,,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Bearer good\x01k1=v\x01\x01",
        b"\xff" * 20,
    ],
)
def test_anything_else_is_no_message(message: bytes) -> None:
    with pytest.raises(BadCredentials):
        OAuthBearerServer(validate).evaluate(message)


def test_another_scheme_closes_as_in_kafka() -> None:
    server = OAuthBearerServer(validate)
    with pytest.raises(ProtocolViolation, match="Invalid scheme"):
        server.evaluate(b"n,,\x01auth=Basic good\x01\x01")
    assert not server.is_complete


@given(
    st.binary(max_size=60)
    | st.binary(max_size=20).map(lambda data: b"n,," + data)
    | st.binary(max_size=20).map(lambda data: b"n,,\x01auth=Bearer " + data + b"\x01\x01")
)
def test_any_bytes_are_refused_or_the_token(message: bytes) -> None:
    server = OAuthBearerServer(validate)
    with contextlib.suppress(SaslFailure, BadCredentials, ProtocolViolation):
        server.evaluate(message)
    assert not server.is_complete or b"Bearer good" in message
