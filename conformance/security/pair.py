"""Apache Kafka and kafkalite with the same users, ACLs and listeners, and a client for both.

Each has a listener of each protocol, and some of names of their own (OTHERS). Without SASL and
without a certificate, clients are ANONYMOUS, who is a super user.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.ports import free_ports
from conformance.security.signed_tokens import endpoint, key_set
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkalite.wire.schema import message_of

MODULES = "org.apache.kafka.common.security"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# Listeners for signed tokens, with the least configs, with the most and with keys behind a URL.
# Others are for certificates of clients, required and requested, or have a few suites of TLS, the
# old version of it, or the new one, or a key of RSA, with all suites or those of its key exchange.
OTHERS = {
    **dict.fromkeys(("SIGNED", "CLAIMS", "FETCHED"), "SASL_PLAINTEXT"),
    **dict.fromkeys(("MUTUAL", "MAPPED", "SUITES", "OLDER", "NEWER", "RSA", "EXCHANGE"), "SSL"),
}
LISTENERS = dict(zip(PROTOCOLS, PROTOCOLS, strict=True)) | OTHERS
_JAAS = {
    "plain": 'plain.PlainLoginModule required user_root="r" user_alice="a" user_bob="b"',
    "scram-sha-256": "scram.ScramLoginModule required",
    "scram-sha-512": "scram.ScramLoginModule required",
    "oauthbearer": "oauthbearer.OAuthBearerLoginModule required",
}
_SIGNED = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "oauthbearer.sasl.jaas.config": f"{MODULES}.{_JAAS['oauthbearer']};",
    "oauthbearer.sasl.server.callback.handler.class": (
        f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
    ),
}
_CLAIMS = {
    "expected.audience": "kafka,another",
    "expected.issuer": "us",
    "clock.skew.seconds": "60",
    "scope.claim.name": "scp",
    "sub.claim.name": "who",
}
SECURITY = {
    "listener.security.protocol.map": ",".join(
        f"{name}:{protocol}" for name, protocol in LISTENERS.items()
    )
    + ",CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    **{
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": f"{MODULES}.{line};"
        for listener in ("sasl_plaintext", "sasl_ssl")
        for mechanism, line in _JAAS.items()
    },
    **{
        f"listener.name.{listener}.{name}": text
        for listener in ("signed", "claims", "fetched")
        for name, text in _SIGNED.items()
    },
    **{
        f"listener.name.claims.oauthbearer.sasl.oauthbearer.{name}": text
        for name, text in _CLAIMS.items()
    },
    "listener.name.mutual.ssl.client.auth": "required",
    "listener.name.mapped.ssl.client.auth": "requested",
    "listener.name.mapped.ssl.principal.mapping.rules": (
        "RULE:^CN=([^,]*),OU=users.*$/$1/L,RULE:^.*UID=([a-z]+).*$/$1@uid/"
    ),
    "listener.name.suites.ssl.cipher.suites": (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"
    ),
    "listener.name.exchange.ssl.cipher.suites": (
        "TLS_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_CBC_SHA256,"
        "TLS_RSA_WITH_AES_128_CBC_SHA,TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"
    ),
    "listener.name.older.ssl.enabled.protocols": "TLSv1.2",
    "listener.name.newer.ssl.enabled.protocols": "TLSv1.3",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
    "delegation.token.secret.key": "hush",
    "connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "10",
}
_SECONDS = 30.0


def tls_configs(directory: Path) -> dict[str, str]:
    """A certificate for 127.0.0.1 as configs. Clients trust `authority.pem` in the directory, whose
    key is beside it, and are trusted with certificates of the same authority."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "authority.pem"))
    authority.private_key_pem.write_to_path(str(directory / "authority-key.pem"))
    for kind in (trustme.KeyType.ECDSA, trustme.KeyType.RSA):
        issued = authority.issue_cert("127.0.0.1", key_type=kind)
        # Java reads keys of this form only.
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        store = directory / f"server-{kind.name.lower()}.pem"
        store.write_bytes(pem + issued.cert_chain_pems[0].bytes())
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "server-ecdsa.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "authority.pem"),
    }


def own_configs(directory: Path) -> dict[str, str]:
    """The configs of files: certificates, and the keys of signed tokens."""
    keys = directory / "keys.json"
    configs = tls_configs(directory)
    keys.write_text(key_set())
    for listener in ("rsa", "exchange"):
        configs[f"listener.name.{listener}.ssl.keystore.type"] = "PEM"
        configs[f"listener.name.{listener}.ssl.keystore.location"] = str(
            directory / "server-rsa.pem"
        )
    places = {"signed": keys.as_uri(), "claims": keys.as_uri(), "fetched": endpoint()}
    return configs | {
        f"listener.name.{listener}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": place
        for listener, place in places.items()
    }


def listeners_at(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


class SecuredKafka(ApacheKafka):
    """Apache Kafka with a listener of each protocol."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        self.port_of = dict(zip(list(LISTENERS)[1:], free_ports(len(LISTENERS) - 1), strict=True))
        keys = (directory / "keys.json").as_uri()
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys},{endpoint()}"
        self.jvm_flags = (*self.jvm_flags, allowed)
        super().__init__(directory, {**properties, **own_configs(directory)})

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        self.port_of["PLAINTEXT"] = self.ports[node_id - 1]
        listeners = listeners_at(self.port_of)
        own = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self.controller_ports[0]}",
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
            # Nobody kills this one: where the machine is busy it stays in.
            "broker.session.timeout.ms": "30000",
            # Half of the processor time that it takes when nothing happens.
            "broker.heartbeat.interval.ms": "5000",
            "metadata.max.idle.interval.ms": "0",
        }
        super().format(node_id, {**properties, **own})

    @property
    def output(self) -> Path:
        """Its log."""
        return self.processes[0].output

    def address(self, protocol: str = "SASL_PLAINTEXT") -> tuple[str, int]:
        """The address of a listener."""
        return "127.0.0.1", self.port_of[protocol]


class SecuredKafkalite(Kafkalite):
    """kafkalite with the same listeners."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        self.port_of = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        everything = {
            **properties,
            **own_configs(directory),
            "listeners": listeners_at(self.port_of),
        }
        self._file = directory / "server.properties"
        self._file.write_text("".join(f"{key}={text}\n" for key, text in everything.items()))
        super().__init__(directory, {})

    def command(self, ready_file: Path) -> list[str]:
        return [*super().command(ready_file), "--config", str(self._file)]

    def listener_flags(self) -> list[str]:
        return []

    @property
    def output(self) -> Path:
        """Its log."""
        return self.process.output

    def address(self, protocol: str = "SASL_PLAINTEXT") -> tuple[str, int]:
        """The address of a listener."""
        return "127.0.0.1", self.port_of[protocol]


Secured = SecuredKafka | SecuredKafkalite


class Client:
    """One connection; messages in, messages out. Closed by the broker, everything is None."""

    client_id = "differential"

    def __init__(self, address: tuple[str, int], source: str = "") -> None:
        """`source` is the address to connect from, where it matters."""
        own = (source, 0) if source else None
        self.socket = socket.create_connection(address, _SECONDS, own)
        self._correlation_id = 0

    @classmethod
    def over(cls, connection: socket.socket) -> Self:
        """A client on a connection that is there."""
        client = cls.__new__(cls)
        client.socket, client._correlation_id = connection, 0
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()

    def ask(self, request: object, version: int | None = None) -> Any:
        """The response, None if the connection was closed instead."""
        message = message_of(type(request))
        key = message.key
        version = message.max_version if version is None else version
        frame = self.exchange(self._encoded(request, version))
        return None if frame is None else decode_response(key, version, frame)[1]

    def send(self, request: object, version: int) -> None:
        """Send a request that is not answered, or not yet."""
        self.socket.sendall(self._encoded(request, version))

    def _encoded(self, request: object, version: int) -> bytes:
        self._correlation_id += 1
        key = message_of(type(request)).key
        chunks = encode_request(key, version, self._correlation_id, self.client_id, request)
        return b"".join(map(bytes, chunks))

    def exchange(self, data: bytes) -> bytes | None:
        """Bytes, and the next frame after them."""
        try:
            self.socket.sendall(data)
            size = self._read(4)
            return None if size is None else self._read(int.from_bytes(size))
        except ConnectionError:
            return None

    def _read(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data


def logged_in(address: tuple[str, int], user: str, source: str = "") -> Client:
    """A client that has logged in with PLAIN."""
    client = Client(address, source)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    answer = client.ask(SaslAuthenticateRequest(f"\0{user}\0{user[0]}".encode()), 2)
    assert answer.error_code == 0
    return client


@contextmanager
def secured_pair(
    directory: Path, properties: Mapping[str, str] = SECURITY
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Apache Kafka and kafkalite."""
    with ExitStack() as stack:
        ours = SecuredKafkalite(directory / "kafkalite", properties)
        stack.callback(ours.stop)
        theirs = SecuredKafka(directory / "kafka", properties)
        stack.callback(theirs.stop)
        yield theirs, ours
