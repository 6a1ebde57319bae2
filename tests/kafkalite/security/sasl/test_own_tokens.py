"""Tokens that a broker logs in with: made here, from a file, from an identity provider."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.own_tokens import (
    ClientCredentials,
    EndpointTokens,
    file_token,
    unsecured_token,
)

NOW = 1_000_000.0


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return found


def test_the_claims_of_the_options() -> None:
    token = unsecured_token(
        {
            "unsecuredLoginStringClaim_sub": "node",
            "unsecuredLoginNumberClaim_n": "2",
            "unsecuredLoginListClaim_scope": ",a,b",
            "unsecuredLoginLifetimeSeconds": "60",
        },
        lambda: NOW,
    )
    assert jwt.get_unverified_header(token) == {"alg": "none"}
    expected = {"sub": "node", "n": 2.0, "scope": ["a", "b"], "iat": NOW, "exp": NOW + 60}
    assert json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==")) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "unsecuredLoginStringClaim_sub"),
        (
            {"unsecuredLoginPrincipalClaimName": "n", "unsecuredLoginNumberClaim_n": "1"},
            "unsecuredLoginStringClaim_n",
        ),
        ({"unsecuredLoginLifetimeSeconds": "soon"}, "numbers"),
    ],
)
def test_options_that_make_no_token(options: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(SaslFailure, match=sentence):
        unsecured_token(options)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a.b.c\n")
    assert file_token(file) == "a.b.c"
    with pytest.raises(SaslFailure, match="cannot read the token"):
        file_token(tmp_path / "none")


class Provider(HTTPServer):
    """Answers with tokens that live for 100 s from `now` on."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.now = NOW
        self.answer: bytes | None = None


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        number = len(self.server.asked)
        claims = base64.urlsafe_b64encode(b'{"exp":%d}' % (self.server.now + 100)).decode()
        found = {"access_token": f"{number}.{claims.rstrip('=')}.s"}
        self.send_response(200)
        self.end_headers()
        answer = self.server.answer
        self.wfile.write(json.dumps(found).encode() if answer is None else answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def tokens(provider: Provider) -> EndpointTokens:
    url = f"http://127.0.0.1:{provider.server_port}/token"
    credentials = ClientCredentials(url, "node", "se:cret", "brokers")
    return EndpointTokens(credentials, lambda: provider.now)


def test_a_token_is_kept_for_most_of_its_life(provider: Provider) -> None:
    own = tokens(provider)
    first = own()
    provider.now += 79
    assert own() == first
    provider.now += 1
    assert own() != first
    login = base64.b64encode(b"node:se:cret").decode()
    asked = (f"Basic {login}", "grant_type=client_credentials&scope=brokers")
    assert provider.asked == [asked, asked]


@pytest.mark.parametrize("answer", [b"no JSON", b"{}", b"[]", b'{"access_token": "opaque"}'])
def test_what_is_no_token_is_refused(provider: Provider, answer: bytes) -> None:
    provider.answer = answer
    with pytest.raises(SaslFailure, match=r"no token from|no JWT"):
        tokens(provider)()


def test_a_provider_that_is_gone(provider: Provider) -> None:
    credentials = ClientCredentials("http://127.0.0.1:1/token", "node", "secret")
    with pytest.raises(SaslFailure, match=r"no token from http://127\.0\.0\.1:1/token"):
        EndpointTokens(credentials)()
