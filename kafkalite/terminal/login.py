"""SASL as a client speaks it, in librdkafka's settings: PLAIN, SCRAM, OAUTHBEARER.

Tokens of OAUTHBEARER are those that bear no signature. A login is a generator: it yields what is
sent, and is sent what the broker answers.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from typing import Final

from kafkalite.security.sasl.scram import MECHANISMS, credential_of, salted_password

Login = Generator[bytes, bytes, None]

_NONCE_BYTES: Final = 24
_TOKEN_SECONDS: Final = 3600


class LoginRefused(Exception):
    """The broker has not shown that it knows the password."""


class UnknownSetting(Exception):
    """librdkafka knows a setting that is not known here; the message names it."""


def mechanism_of(settings: Mapping[str, str]) -> str:
    """The name of the mechanism. Raises UnknownSetting for one that is not spoken here."""
    name = settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or "GSSAPI"
    if name not in _LOGINS:
        raise UnknownSetting(f"sasl.mechanism={name}")
    return name


def login(settings: Mapping[str, str]) -> Login:
    """The conversation of the mechanism that is set. Raises UnknownSetting."""
    return _LOGINS[mechanism_of(settings)](settings)


def _plain(settings: Mapping[str, str]) -> Login:
    user, password = _user_and_password(settings)
    yield f"\0{user}\0{password}".encode()


def _user_and_password(settings: Mapping[str, str]) -> tuple[str, str]:
    return settings.get("sasl.username", ""), settings.get("sasl.password", "")


def _scram(settings: Mapping[str, str]) -> Login:
    """RFC 5802, without channel binding, as Kafka has it."""
    user, password = _user_and_password(settings)
    mechanism = MECHANISMS[mechanism_of(settings)]
    digest = mechanism.digest
    name = user.replace("=", "=3D").replace(",", "=2C")
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    first = f"n={name},r={nonce}"
    answer = (yield f"n,,{first}".encode()).decode()
    said = _fields(answer)
    if not said.get("r", "").startswith(nonce):
        raise LoginRefused("the broker has changed the nonce")
    salt, iterations = base64.b64decode(said["s"]), int(said["i"])
    salted = salted_password(mechanism, password, salt, iterations)
    credential = credential_of(mechanism, salted, salt, iterations)
    final = f"c=biws,r={said['r']}"
    signed = f"{first},{answer},{final}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(credential.stored_key, signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = (yield f"{final},p={base64.b64encode(proof).decode()}".encode()).decode()
    expected = hmac.digest(credential.server_key, signed, digest)
    if not hmac.compare_digest(base64.b64decode(_fields(answer).get("v", "")), expected):
        raise LoginRefused("the broker does not know the password")


def _fields(text: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in text.split(",")}


def _oauthbearer(settings: Mapping[str, str]) -> Login:
    """A token without signature (RFC 7515, "alg": "none"), for brokers of tests."""
    [principal] = [value for _, value in _config(settings)] or [""]
    now = int(time.time())
    claims = {"sub": principal, "iat": now, "exp": now + _TOKEN_SECONDS}
    token = f"{_segment({'alg': 'none'})}.{_segment(claims)}."
    yield f"n,,\1auth=Bearer {token}\1\1".encode()


def _segment(values: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).rstrip(b"=").decode()


def _unsigned_only(settings: Mapping[str, str]) -> Login:
    if settings.get("enable.sasl.oauthbearer.unsecure.jwt") != "true":
        raise UnknownSetting("sasl.oauthbearer.method")
    unknown = [name for name, _ in _config(settings) if name != "principal"]
    if unknown:
        raise UnknownSetting(f"{unknown[0]} of sasl.oauthbearer.config")
    return _oauthbearer(settings)


def _config(settings: Mapping[str, str]) -> list[tuple[str, str]]:
    parts = [each.partition("=") for each in settings.get("sasl.oauthbearer.config", "").split()]
    return [(name, value) for name, _, value in parts]


_LOGINS: Final[Mapping[str, Callable[[Mapping[str, str]], Login]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
    "OAUTHBEARER": _unsigned_only,
}
