"""Signed tokens, good ones and lies: both brokers answer the same."""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conformance.security.conversations import bearer, unsecured
from conformance.security.pair import Client, Secured
from conformance.security.signed_tokens import keys, publish, signed
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

SECONDS = 60
NOW = int(time.time())
# It lives longer than any session.
CLAIMS: dict[str, Any] = {
    "sub": "alice",
    "who": "bob",
    "iat": NOW - 1000,
    "exp": NOW + 100_000,
    "iss": "us",
    "aud": ["kafka"],
    "scope": "a",
    "scp": "b",
}
# The claims that are others; None is left out.
CHANGES: list[dict[str, Any]] = [
    {},
    *({"aud": each} for each in (None, "kafka", "elsewhere", ["x", "another"], [], 5, [5], "")),
    *({"iss": each} for each in (None, "them", 5, ["us"], "", " us")),
    *({"exp": NOW - each} for each in (20, 45, 90)),
    *({"exp": each} for each in (None, "soon", str(NOW + 100_000), True, NOW + 100_000.5, -1, 0)),
    *({"iat": each} for each in (None, "now", NOW + 45, NOW + 3600, NOW + 200_000, -5, 0)),
    *({"iat": each} for each in (True, NOW - 0.5, [NOW])),
    {"exp": NOW - 10, "iat": NOW - 5},
    {"nbf": NOW + 10, "exp": NOW + 5},
    {"nbf": NOW + 200_000},
    *({"nbf": each} for each in (NOW - 5, NOW + 20, NOW + 45, NOW + 90, "now", NOW + 0.5)),
    *({"sub": each, "who": each} for each in (None, "", " ", " a b ", 5, ["a"], {"a": 1}, True)),
    *({"scope": each, "scp": each} for each in (None, "", " ", "a b", "a a", 5, True, {"a": 1})),
    *(
        {"scope": each, "scp": each}
        for each in ([], ["a", "b"], ["a", "a"], ["a", " a"], ["a", ""])
    ),
    *({"scope": each, "scp": each} for each in ([5], [["a"]], [None])),
    {"jti": 5},
    {"more": {"deep": [1, 2.5, None, {}]}},
]


def changed_part(token: str, number: int, text: str) -> str:
    parts = token.split(".")
    parts[number] = text
    return ".".join(parts)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def lies(claims: dict[str, Any]) -> dict[str, str]:
    public = keys()["rsa"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    good = signed(claims)
    head, body, signature = good.split(".")
    secret = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    by_pem = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{body}"
    mac = base64.urlsafe_b64encode(secret.sign(by_pem.encode(), pem)).decode().rstrip("=")
    return {
        "none": unsecured(claims),
        "None": unsecured(claims, "None"),
        "none and a signature": unsecured(claims, "none", signature),
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "four parts": f"{head}.{body}.{signature}.{signature}",
        "the public key as a secret": f"{by_pem}.{mac}",
        "a strange key": signed(claims, "strange"),
        "an id of no key": signed(claims, key_id="unknown"),
        "no id": signed(claims, key_id=None),
        "no id, elliptic": signed(claims, "ec", "ES256", None),
        "elliptic": signed(claims, "ec", "ES256", "ec"),
        "elliptic with the other's id": signed(claims, "ec", "ES256", "rsa"),
        "with the id of elliptic": signed(claims, key_id="ec"),
        **{f"by {each}": signed(claims, algorithm=each) for each in ("RS384", "RS512", "PS256")},
        "another payload": changed_part(good, 1, encoded({**claims, "sub": "root", "who": "root"})),
        "another header": changed_part(
            good, 0, encoded({"alg": "RS256", "kid": "rsa", "typ": "x"})
        ),
        "a header that is none": changed_part(good, 0, "e30"),
        "a payload that is none": changed_part(good, 1, "W10"),
        "a padded signature": f"{head}.{body}.{signature}==",
        "a longer signature": f"{head}.{body}.{signature}AA",
        "a shorter signature": f"{head}.{body}.{signature[:-4]}",
        "a critical header": signed(claims, crit=["exp"], exp=5),
        "a type": signed(claims, typ="at+jwt"),
        "nested": signed(claims, cty="JWT"),
        "its own key": signed(claims, "strange", key_id=None, jwk={"kty": "RSA"}),
        "a url for its key": signed(claims, "strange", key_id=None, jku="http://127.0.0.1:1/"),
        "letters": "a.b.c",
        "dots": "..",
    }


# A listener that expects no audience takes no token that names one.
TOKENS = {
    "SIGNED": {str(each): signed(CLAIMS | {"aud": None} | each) for each in CHANGES}
    | lies(CLAIMS | {"aud": None}),
    "CLAIMS": {str(each): signed(CLAIMS | each) for each in CHANGES} | lies(CLAIMS),
}


def answers(broker: Secured, listener: str, token: str) -> list[tuple[object, ...] | None]:
    """The answers to a token, and to the message after a refusal; None: closed."""
    heard: list[tuple[object, ...] | None] = []
    with Client(broker.address(listener)) as client:
        client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        for data in (bearer(token), b"\x01"):
            answer = client.ask(SaslAuthenticateRequest(data), 2)
            if answer is None:
                return [*heard, None]
            heard.append(
                (
                    answer.error_code,
                    answer.error_message,
                    answer.auth_bytes,
                    answer.session_lifetime_ms,
                )
            )
            if answer.error_code or not answer.auth_bytes:
                return heard
    return heard


@pytest.mark.parametrize("listener", TOKENS)
def test_tokens(secured: tuple[Secured, Secured], listener: str) -> None:
    found = []
    accepted = 0
    tokens = TOKENS[listener]
    with ThreadPoolExecutor(16) as pool:  # a refusal comes late
        theirs_and_ours = zip(
            *(
                pool.map(partial(answers, each, listener), tokens.values(), timeout=SECONDS)
                for each in secured
            ),
            strict=True,
        )
    for name, (theirs, ours) in zip(tokens, theirs_and_ours, strict=True):
        accepted += theirs[0] is not None and not theirs[0][0] and not theirs[0][2]
        if theirs != ours:
            found.append(f"{name}: {theirs} and {ours}")
    assert not found, "\n".join(found)
    assert 10 < accepted < len(tokens) - 20


def test_keys_behind_a_url(secured: tuple[Secured, Secured]) -> None:
    """A key that the brokers do not know makes them look again."""
    claims = {**CLAIMS, "aud": None}
    good = signed(claims)
    late = signed(claims, "late", "ES256", "late")
    lies = (signed(claims, "strange"), signed(claims, "ec", "ES256", "rsa"), unsecured(claims))
    for token in (good, *lies):
        theirs, ours = (answers(each, "FETCHED", token) for each in secured)
        assert ours == theirs
        assert (theirs[0] is not None and theirs[0][2] == b"") == (token == good), theirs
    publish()
    deadline = time.monotonic() + SECONDS
    for broker in secured:
        while (heard := answers(broker, "FETCHED", late)[0]) is None or heard[2]:
            assert time.monotonic() < deadline, heard
            time.sleep(0.2)
