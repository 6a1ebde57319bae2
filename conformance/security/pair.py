"""Apache Kafka and kafkalite with the same users, ACLs and listeners, and a client for both.

Each has a listener of each protocol. Without SASL, clients are ANONYMOUS, who is a super user.
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
from kafkalite.wire.api_messages import message_of_api
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkalite.wire.schema import message_of

MODULES = "org.apache.kafka.common.security"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_JAAS = {
    "plain": 'plain.PlainLoginModule required user_root="r" user_alice="a" user_bob="b"',
    "scram-sha-256": "scram.ScramLoginModule required",
    "scram-sha-512": "scram.ScramLoginModule required",
    "oauthbearer": "oauthbearer.OAuthBearerLoginModule required",
}
SECURITY = {
    "listener.security.protocol.map": ",".join(f"{name}:{name}" for name in PROTOCOLS)
    + ",CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    **{
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": f"{MODULES}.{line};"
        for listener in ("sasl_plaintext", "sasl_ssl")
        for mechanism, line in _JAAS.items()
    },
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
    "delegation.token.secret.key": "hush",
    "connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "10",
}
_SECONDS = 30.0


def tls_configs(directory: Path) -> dict[str, str]:
    """A certificate for 127.0.0.1 as configs. Clients trust `authority.pem` in the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "authority.pem"))
    issued = authority.issue_cert("127.0.0.1")
    # Java reads keys of this form only.
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    store = directory / "server.pem"
    store.write_bytes(pem + issued.cert_chain_pems[0].bytes())
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}


def listeners_at(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


class SecuredKafka(ApacheKafka):
    """Apache Kafka with a listener of each protocol."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        self.port_of = dict(zip(PROTOCOLS[1:], free_ports(3), strict=True))
        super().__init__(directory, {**properties, **tls_configs(directory)})

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        self.port_of["PLAINTEXT"] = self.ports[node_id - 1]
        listeners = listeners_at(self.port_of)
        own = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self.controller_ports[0]}",
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
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
        self.port_of = dict(zip(PROTOCOLS, free_ports(4), strict=True))
        everything = {
            **properties,
            **tls_configs(directory),
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
        key = message_of(type(request)).key
        version = message_of_api(key).max_version if version is None else version
        self._correlation_id += 1
        chunks = encode_request(key, version, self._correlation_id, "differential", request)
        frame = self.exchange(b"".join(map(bytes, chunks)))
        return None if frame is None else decode_response(key, version, frame)[1]

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
def secured_pair(directory: Path) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Apache Kafka and kafkalite."""
    with ExitStack() as stack:
        ours = SecuredKafkalite(directory / "kafkalite", SECURITY)
        stack.callback(ours.stop)
        theirs = SecuredKafka(directory / "kafka", SECURITY)
        stack.callback(theirs.stop)
        yield theirs, ours
