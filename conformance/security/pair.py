"""Apache Kafka and kafkalite with the same users, ACLs and listeners, and a client for both.

Each has a PLAINTEXT listener, where ANONYMOUS is a super user, and one with SASL.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import free_ports
from conformance.harness.kafkalite import Kafkalite
from kafkalite.wire.api_messages import message_of_api
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.schema import message_of

MODULES = "org.apache.kafka.common.security"
SECURITY = {
    "listener.security.protocol.map": (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
    ),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'{MODULES}.plain.PlainLoginModule required user_root="r" user_alice="a" user_bob="b";'
    ),
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
        f"{MODULES}.scram.ScramLoginModule required;"
    ),
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": (
        f"{MODULES}.scram.ScramLoginModule required;"
    ),
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
        f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
    "delegation.token.secret.key": "hush",
    "connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "10",
}
# Apache Kafka keeps this one apart by name; kafkalite has it in its table.
_SECONDS = 30.0


class SecuredKafka(ApacheKafka):
    """Apache Kafka with a listener for SASL."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        (self.sasl_port,) = free_ports(1)
        super().__init__(directory, properties)

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        plain, control = self.ports[node_id - 1], self.controller_ports[node_id - 1]
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{self.sasl_port}"
        own = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{control}",
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
        }
        super().format(node_id, {**properties, **own})

    @property
    def output(self) -> Path:
        """Its log."""
        return self.processes[0].output

    @property
    def sasl_address(self) -> tuple[str, int]:
        return "127.0.0.1", self.sasl_port


class SecuredKafkalite(Kafkalite):
    """kafkalite with the same listeners."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        plain, sasl = free_ports(2)
        self.sasl_port = sasl
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / "server.properties"
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}"
        everything = {**properties, "listeners": listeners}
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

    @property
    def sasl_address(self) -> tuple[str, int]:
        return "127.0.0.1", self.sasl_port


class Client:
    """One connection; messages in, messages out. Closed by the broker, everything is None."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=_SECONDS)
        self._correlation_id = 0

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
