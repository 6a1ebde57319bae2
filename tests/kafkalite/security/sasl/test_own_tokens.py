"""Tokens that a broker logs in with: made here, from a file, from an identity provider."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.own_tokens import (
    EndpointTokens,
    RefreshWindow,
    file_token,
    unsecured_token,
)
from kafkalite.security.sasl.token_endpoint import TokenEndpoint
from tests.kafkalite.security.token_provider import NOW, Provider


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


def tokens(provider: Provider, refresh: RefreshWindow | None = None) -> EndpointTokens:
    endpoint = TokenEndpoint(provider.url, "node", "se:cret", "brokers")
    return EndpointTokens(endpoint, refresh, lambda: provider.now)


def test_a_token_is_kept_for_most_of_its_life(provider: Provider) -> None:
    own = tokens(provider, RefreshWindow(jitter=0.0))
    first = own()
    provider.now += 79
    assert own() == first
    provider.now += 1
    assert own() != first


@pytest.mark.parametrize(
    ("window", "life", "expected"),
    [
        (RefreshWindow(0.5, 0.0, 10, 10), 100, 50),
        (RefreshWindow(0.9, 0.0, 10, 30), 100, 70),
        (RefreshWindow(0.5, 0.0, 60, 10), 100, 60),
        # No room for the two of them.
        (RefreshWindow(0.9, 0.0, 60, 50), 100, 90),
        (RefreshWindow(0.8, 0.0, 60, 300), 100, 80),
    ],
)
def test_the_time_of_renewal(window: RefreshWindow, life: int, expected: int) -> None:
    assert window.time(NOW, NOW + life) == pytest.approx(NOW + expected)


def test_the_jitter_is_added() -> None:
    window = RefreshWindow(0.5, 0.25, 0, 0)
    times = [window.time(NOW, NOW + 100) - NOW for _ in range(100)]
    assert 50 <= min(times) < 60
    assert 65 < max(times) <= 75


@pytest.mark.parametrize("answer", [b"no JSON", b"{}", b"[]", b'{"access_token": "opaque"}'])
def test_what_is_no_token_is_refused(provider: Provider, answer: bytes) -> None:
    provider.answer = answer
    with pytest.raises(SaslFailure, match=r"no token from|no JWT"):
        tokens(provider)()
