"""Connections that may ask for a delegation token, and others, asked of both brokers.

Of what is wrong with a request, both find the same first.
"""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from conformance.security.conversations import by_token
from conformance.security.pair import Client, Secured, logged_in
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)

Pair = tuple[Secured, Secured]
VERSIONS = (1, 2, 3)  # only the last names owners


def owned(
    name: str | None, *renewers: tuple[str, str], kind: str | None = "User"
) -> CreateDelegationTokenRequest:
    made = [CreatableRenewers(principal_type=each, principal_name=of) for each, of in renewers]
    return CreateDelegationTokenRequest(
        owner_principal_type=kind, owner_principal_name=name, renewers=made, max_lifetime_ms=-1
    )


REQUESTS = {
    "one's own": owned("", kind=""),
    "one's own, renewed by a group": owned("", ("Group", "g"), kind=""),
    "alice's": owned("alice"),
    "bob's": owned("bob"),
    "bob's, renewed by a group": owned("bob", ("Group", "g")),
    "a group's": owned("g", kind="Group"),
    "whose owner has no type": owned("bob", kind=None),
    "whose owner has no name": owned(""),
    "whose owner is null": owned(None, kind=None),
}


def with_token(broker: Secured) -> Client:
    """A client that has logged in as alice by a token."""
    with logged_in(broker.address(), "alice") as alice:
        made = alice.ask(CreateDelegationTokenRequest(max_lifetime_ms=60_000))
    return by_token(broker.address(), made)[0]


def by_tls(broker: Secured) -> Client:
    """A client that has not said who it is."""
    context = ssl.create_default_context(cadata=(broker.directory / "authority.pem").read_text())
    plain = Client(broker.address("SSL"))
    return Client.over(context.wrap_socket(plain.socket, server_hostname="127.0.0.1"))


WAYS: dict[str, Callable[[Secured], Client]] = {
    "PLAINTEXT": lambda broker: Client(broker.address("PLAINTEXT")),
    "SSL": by_tls,
    "a token": with_token,
    "a password": lambda broker: logged_in(broker.address(), "alice"),
}


def shown(answer: Any) -> dict[str, Any]:
    """An answer without what is each token's own."""
    told = dataclasses.asdict(answer)
    for name, value in told.items():
        if name.endswith("_timestamp_ms"):
            told[name] = min(value, 1)
    return {**told, "token_id": bool(answer.token_id), "hmac": len(answer.hmac)}


@pytest.mark.parametrize("way", WAYS)
def test_requests_for_tokens(secured: Pair, way: str) -> None:
    told: list[dict[str, Any]] = []
    for broker in secured:
        with WAYS[way](broker) as client:
            told.append(
                {
                    f"{name}, v{version}": shown(client.ask(request, version))
                    for name, request in REQUESTS.items()
                    for version in VERSIONS[0 if request.owner_principal_type == "" else -1 :]
                }
            )
    theirs, ours = told
    different = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert not different
