"""One connection to one broker, for requests that librdkafka has no words for.

The settings are librdkafka's. UnknownSetting names one that is not supported here (GSSAPI, tokens
of OIDC, key stores).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final

from kafkalite.peers.exchange import Exchange, Unserved
from kafkalite.security.sasl.client import SaslClient
from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.terminal.login import UnknownSetting, login
from kafkalite.wire.errors import ErrorCode, ProtocolViolation
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

_SECONDS: Final = 30.0
_READ_BYTES: Final = 1 << 16
_NOT_READ: Final = ("ssl.keystore.location", "ssl.certificate.pem", "ssl.key.pem")


class BrokerGone(Exception):
    """A broker does not answer, or does not let us in; the message says why."""


class Connection:
    """A connection that is greeted and logged in. Raises BrokerGone, UnknownSetting."""

    def __init__(self, host: str, port: int, settings: Mapping[str, str]) -> None:
        self._where = f"{host}:{port}"
        self._exchange = Exchange("kafkalite-terminal")
        protocol = settings.get("security.protocol", "plaintext").lower()
        context = tls_context(settings) if protocol.endswith("ssl") else None
        client = login(settings) if protocol.startswith("sasl_") else None
        try:
            self._socket = socket.create_connection((host, port), timeout=_SECONDS)
        except OSError as error:
            raise BrokerGone(f"{self._where}: {error}") from None
        try:
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
            self._exchange.versions_received(self.ask(self._exchange.versions_request()))
            if client is not None:
                self._log_in(client)
        except (OSError, SaslFailure) as error:
            self._socket.close()
            raise BrokerGone(f"{self._where}: {error}") from None
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Nothing can be asked any more."""
        self._socket.close()

    def ask(self, body: object) -> Any:
        """The answer to a request. Raises BrokerGone, also if the broker is too old for it."""
        try:
            self._socket.sendall(self._exchange.request(body))
            while True:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise BrokerGone(f"{self._where} has closed the connection")
                answer = self._exchange.receive(data)
                if answer is not None:
                    return answer
        except (OSError, ProtocolViolation, Unserved) as error:
            raise BrokerGone(f"{self._where}: {error}") from None

    def _log_in(self, client: SaslClient) -> None:
        shaken = self.ask(SaslHandshakeRequest(client.mechanism))
        if shaken.error_code:
            name = ErrorCode(shaken.error_code).name
            raise SaslFailure(f"{name}: it has {', '.join(shaken.mechanisms)}")
        message: bytes | None = client.first()
        while message is not None:
            answer = self.ask(SaslAuthenticateRequest(message))
            if answer.error_code:
                raise SaslFailure(answer.error_message or ErrorCode(answer.error_code).name)
            message = client.answer(answer.auth_bytes)


def tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """TLS as librdkafka's settings have it. Raises UnknownSetting, BrokerGone."""
    unknown = next((name for name in _NOT_READ if name in settings), None)
    if unknown is not None:
        raise UnknownSetting(unknown)
    location = settings.get("ssl.ca.location")
    try:
        context = ssl.create_default_context(
            cafile=None if location == "probe" else location, cadata=settings.get("ssl.ca.pem")
        )
        if "ssl.certificate.location" in settings:
            context.load_cert_chain(
                settings["ssl.certificate.location"],
                settings.get("ssl.key.location"),
                settings.get("ssl.key.password"),
            )
    except OSError as error:
        raise BrokerGone(f"TLS: {error}") from None
    verifies = settings.get("enable.ssl.certificate.verification", "true") != "false"
    names = settings.get("ssl.endpoint.identification.algorithm", "https") != "none"
    context.check_hostname = verifies and names
    if not verifies:
        context.verify_mode = ssl.CERT_NONE
    return context
