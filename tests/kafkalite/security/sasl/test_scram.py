"""SCRAM against the example of RFC 7677, a client of its own, and tampering."""

import base64
import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.sasl import scram
from kafkalite.security.sasl.mechanism import BadCredentials, SaslFailure
from kafkalite.security.sasl.scram import (
    TRANSITIONS,
    ScramCredential,
    ScramMechanism,
    ScramServer,
    State,
    TokenCredential,
    make_credential,
    salted_password,
)

SHA_256 = ScramMechanism.SCRAM_SHA_256
from kafkalite.wire.errors import ProtocolViolation


class Store:
    """Credentials of one user and one token."""

    def __init__(self, mechanism: ScramMechanism = SHA_256) -> None:
        self.user = make_credential(mechanism, "pencil")
        self.of_token = TokenCredential("owner", 5_000, make_credential(mechanism, "hmac"))

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self.user if user in ("user", "a,b=c") else None

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        return self.of_token if token_id == "id" else None


class Client:
    """The other side, straight from RFC 5802."""

    def __init__(self, mechanism: ScramMechanism, password: str, header: str = "n,,") -> None:
        self.digest = mechanism.digest
        self.mechanism = mechanism
        self.password = password
        self.header = header

    def first(self, user: str = "user", rest: str = "") -> bytes:
        self.bare = f"n={user},r=clientnonce{rest}"
        return (self.header + self.bare).encode()

    def final(self, server_first: bytes, channel: str | None = None) -> bytes:
        fields = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salted = salted_password(
            self.mechanism, self.password, base64.b64decode(fields["s"]), int(fields["i"])
        )
        header = self.header if channel is None else channel
        bare = f"c={base64.b64encode(header.encode()).decode()},r={fields['r']}"
        signed = f"{self.bare},{server_first.decode()},{bare}".encode()
        client_key = hmac.digest(salted, b"Client Key", self.digest)
        stored = hashlib.new(self.digest, client_key).digest()
        signature = hmac.digest(stored, signed, self.digest)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self.expected = hmac.digest(
            hmac.digest(salted, b"Server Key", self.digest), signed, self.digest
        )
        return f"{bare},p={base64.b64encode(proof).decode()}".encode()


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_both_sides_prove_that_they_know_the_password(mechanism: ScramMechanism) -> None:
    server, client = ScramServer(mechanism, Store(mechanism)), Client(mechanism, "pencil")
    final = server.evaluate(client.final(server.evaluate(client.first())))
    assert final == b"v=" + base64.b64encode(client.expected)
    assert (server.is_complete, server.user) == (True, "user")
    assert not server.token_authenticated
    assert server.credential_expiry_ms is None


def test_the_example_of_rfc_7677(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    store.user = make_credential(SHA_256, "pencil", 4096, salt)
    server = ScramServer(SHA_256, store)
    monkeypatch.setattr(scram, "_new_nonce", lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = server.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    final = server.evaluate(f"c=biws,r={nonce},p={proof}".encode())
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_names_are_unescaped() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    server.evaluate(client.final(server.evaluate(client.first("a=2Cb=3Dc"))))
    assert server.user == "a,b=c"


def test_a_token_stands_in_for_a_password() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "hmac")
    server.evaluate(client.final(server.evaluate(client.first("id", ",tokenauth=true"))))
    assert server.user == "owner"
    assert server.token_authenticated
    assert server.credential_expiry_ms == 5_000


def test_a_token_is_no_user_and_a_user_no_token() -> None:
    with pytest.raises(BadCredentials):
        ScramServer(SHA_256, Store()).evaluate(Client(SHA_256, "x").first("id"))
    with pytest.raises(BadCredentials):
        ScramServer(SHA_256, Store()).evaluate(
            Client(SHA_256, "x").first("user", ",tokenauth=true")
        )


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=user",
        b"n,,n=user,r=",
        b"n,,n=us,er,r=x",
        b"n,,n=us=er,r=x",
        b"y,,n=user,r=x",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=,r=x",
        b"n,,n=user,r=x\n",
        b"n,,n=user,r=\xff",
        b"n,,n=nobody,r=x",
    ],
)
def test_a_bad_beginning_ends_it(first: bytes) -> None:
    server = ScramServer(SHA_256, Store())
    with pytest.raises(BadCredentials):
        server.evaluate(first)
    with pytest.raises(SaslFailure, match="FAILED"):
        server.evaluate(Client(SHA_256, "pencil").first())


def test_another_authorization_id_is_refused_aloud() -> None:
    server = ScramServer(SHA_256, Store())
    with pytest.raises(SaslFailure, match="different from username"):
        server.evaluate(Client(SHA_256, "pencil", "n,a=boss,").first())


def test_too_few_iterations_are_refused() -> None:
    store = Store()
    store.user = make_credential(SHA_256, "pencil", 4095)
    with pytest.raises(BadCredentials, match="4095 is less than the minimum 4096"):
        ScramServer(SHA_256, store).evaluate(Client(SHA_256, "pencil").first())


def tampered(final: bytes) -> list[bytes]:
    text = final.decode()
    proof = text.index(",p=") + len(",p=")
    return [
        text.replace("r=clientnonce", "r=clientnoncf").encode(),
        text.replace(",p=", "x,p=").encode(),
        text.replace("c=biws", "c=eSws").encode(),
        # Not the last character: some of its bits say nothing.
        (text[:proof] + ("C" if text[proof] == "B" else "B") + text[proof + 1 :]).encode(),
        b"",
    ]


@pytest.mark.parametrize("which", range(5))
def test_a_final_message_that_was_changed_is_refused(which: int) -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    final = client.final(server.evaluate(client.first()))
    with pytest.raises(BadCredentials):
        server.evaluate(tampered(final)[which])
    assert not server.is_complete


@pytest.mark.parametrize("proof", ["", "AAAA"])
def test_a_proof_of_another_length_closes_as_in_kafka(proof: str) -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    final = client.final(server.evaluate(client.first())).decode()
    with pytest.raises(ProtocolViolation, match="a proof of"):
        server.evaluate((final[: final.index(",p=") + len(",p=")] + proof).encode())
    assert not server.is_complete


def test_extensions_of_the_final_message_are_not_signed_as_in_kafka() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    final = client.final(server.evaluate(client.first())).decode()
    server.evaluate(final.replace(",p=", ",x=y,p=").encode())
    assert server.is_complete


def test_a_nonce_is_a_number_in_base_36_and_always_another() -> None:
    drawn = {
        ScramServer(SHA_256, Store()).evaluate(Client(SHA_256, "pencil").first()) for _ in range(50)
    }
    assert len(drawn) == 50
    for first in drawn:
        assert re.fullmatch(rb"r=clientnonce[0-9a-z]{10,26},s=.*", first)


def test_a_wrong_password_is_refused() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pen")
    with pytest.raises(BadCredentials, match="Invalid client credentials"):
        server.evaluate(client.final(server.evaluate(client.first())))


def test_a_changed_channel_binding_is_refused_though_it_is_signed() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    first = server.evaluate(client.first())
    with pytest.raises(BadCredentials, match="channel binding"):
        server.evaluate(client.final(first, channel="y,,"))


def test_a_mandatory_extension_makes_the_proof_fail() -> None:
    server, client = ScramServer(SHA_256, Store()), Client(SHA_256, "pencil")
    client.first()
    client.bare = "m=must," + client.bare
    first = server.evaluate((client.header + client.bare).encode())
    with pytest.raises(BadCredentials):
        server.evaluate(client.final(first))


@pytest.mark.parametrize("state", State)
def test_nothing_leads_out_of_failure(state: State) -> None:
    assert State.FAILED in TRANSITIONS[state]
    assert TRANSITIONS[State.FAILED] == {State.FAILED}


def test_no_secret_is_shown() -> None:
    assert "b'" not in repr(make_credential(SHA_256, "pencil"))


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_or_answered(token: bytes) -> None:
    server = ScramServer(SHA_256, _STORE)
    try:
        server.evaluate(token)
    except (SaslFailure, BadCredentials):
        assert not server.is_complete


_STORE = Store()
