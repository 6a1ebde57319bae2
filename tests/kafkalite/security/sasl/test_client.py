"""The clients of the mechanisms, against this broker's own servers."""

from __future__ import annotations

import pytest

from kafkalite.security.sasl.client import OAuthBearerClient, PlainClient, SaslClient, ScramClient
from kafkalite.security.sasl.mechanism import BadCredentials, SaslFailure, SaslServer
from kafkalite.security.sasl.oauthbearer import OAuthBearerServer
from kafkalite.security.sasl.own_tokens import unsecured_token
from kafkalite.security.sasl.plain import PlainServer, passwords_of
from kafkalite.security.sasl.scram import (
    ScramCredential,
    ScramMechanism,
    ScramServer,
    TokenCredential,
    make_credential,
)
from kafkalite.security.sasl.tokens import UnsecuredTokenRules, UnsecuredTokens

PASSWORD = "pencil"


class Store:
    """The credentials of `a,b=c`, and a token named `id`."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return make_credential(mechanism, PASSWORD) if user == "a,b=c" else None

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        credential = make_credential(mechanism, PASSWORD)
        return TokenCredential("owner", 5_000, credential) if token_id == "id" else None


def talk(client: SaslClient, server: SaslServer) -> str:
    """The user that the server takes the client for. Raises what either of them does."""
    message: bytes | None = client.first()
    while message is not None:
        message = client.answer(server.evaluate(message))
    assert server.is_complete
    return server.user


def test_plain() -> None:
    assert talk(PlainClient("a", "secret"), PlainServer(passwords_of({"user_a": "secret"}))) == "a"


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
def test_scram(mechanism: ScramMechanism) -> None:
    client = ScramClient(mechanism, {"username": "a,b=c", "password": PASSWORD})
    assert talk(client, ScramServer(mechanism, Store())) == "a,b=c"
    token = {"username": "id", "password": PASSWORD, "tokenauth": "true"}
    assert talk(ScramClient(mechanism, token), ScramServer(mechanism, Store())) == "owner"


def test_a_wrong_password_is_no_proof() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    client = ScramClient(mechanism, {"username": "a,b=c", "password": "pen"})
    with pytest.raises(BadCredentials):
        talk(client, ScramServer(mechanism, Store()))


class Impostor:
    """Changes what a server says."""

    def __init__(self, old: bytes, new: bytes, mechanism: ScramMechanism) -> None:
        self._old, self._new = old, new
        self._server = ScramServer(mechanism, Store())
        self.mechanism = mechanism.title
        self.is_complete = True
        self.user = ""
        self.token_authenticated = False
        self.credential_expiry_ms = None

    def evaluate(self, token: bytes) -> bytes:
        return self._server.evaluate(token).replace(self._old, self._new)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b"v=", b"v=A", "does not know the password"),
        (b"i=4096", b"i=1", "1 iterations are too few"),
        (b"r=", b"r=x", "Invalid SCRAM server first"),
        (b"s=", b"t=", "Invalid SCRAM server first"),
    ],
)
def test_a_server_that_cheats_is_found_out(old: bytes, new: bytes, sentence: str) -> None:
    mechanism = ScramMechanism.SCRAM_SHA_512
    client = ScramClient(mechanism, {"username": "a,b=c", "password": PASSWORD})
    with pytest.raises(SaslFailure, match=sentence):
        talk(client, Impostor(old, new, mechanism))


def test_a_token() -> None:
    server = OAuthBearerServer(UnsecuredTokens(UnsecuredTokenRules.of({})))
    client = OAuthBearerClient(lambda: unsecured_token({"unsecuredLoginStringClaim_sub": "a"}))
    assert talk(client, server) == "a"


def test_a_refused_token_ends_the_conversation() -> None:
    server = OAuthBearerServer(UnsecuredTokens(UnsecuredTokenRules.of({})))
    with pytest.raises(SaslFailure, match="invalid_token"):
        talk(OAuthBearerClient(lambda: "no.token."), server)
