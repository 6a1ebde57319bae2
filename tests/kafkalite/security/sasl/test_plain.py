"""PLAIN: one message, and what may be wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.plain import PlainServer, passwords_of

CHECK = passwords_of(
    {"username": "broker", "password": "x", "user_alice": "secret", "user_eve": ""}
)


def test_a_user_of_the_jaas_line_comes_in() -> None:
    server = PlainServer(CHECK)
    assert server.evaluate(b"\0alice\0secret") == b""
    assert server.is_complete
    assert server.user == "alice"


def test_the_authorization_id_may_be_the_user() -> None:
    server = PlainServer(CHECK)
    server.evaluate(b"alice\0alice\0secret")
    assert server.is_complete


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (b"", "expected 3 tokens, got 1"),
        (b"\0alice", "expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "expected 3 tokens, got 4"),
        (b"\0a\0b\0c\0d", "expected 3 tokens, got 4"),
        (b"\0\0secret", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0bob\0secret", "Invalid username or password"),
        (b"\0eve\0anything", "Invalid username or password"),
        # The options that are not passwords of users.
        (b"\0name\0broker", "Invalid username or password"),
        (b"bob\0alice\0secret", "authorization id that is different"),
        (b"\0\xff\xfe\0secret", "Invalid username or password"),
    ],
)
def test_failures_are_told(token: bytes, words: str) -> None:
    server = PlainServer(CHECK)
    with pytest.raises(SaslFailure, match=words):
        server.evaluate(token)
    assert not server.is_complete


@given(st.binary(max_size=60) | st.binary(max_size=20).map(lambda data: b"\0alice\0" + data))
def test_any_bytes_are_refused_or_the_password(token: bytes) -> None:
    server = PlainServer(CHECK)
    try:
        server.evaluate(token)
    except SaslFailure:
        assert not server.is_complete
    else:
        assert token.endswith(b"\0alice\0secret")
