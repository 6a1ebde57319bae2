"""TLS and SASL between the connections of a listener and the requests: who the client is.

A listener with PLAINTEXT has neither, and its connections go straight to the dispatcher.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from kafkalite.apis.api_versions import handle as handle_api_versions
from kafkalite.apis.api_versions import unsupported_version
from kafkalite.requests.context import RequestContext
from kafkalite.requests.refusals import refuse
from kafkalite.wire.codec import Request
from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.requests.principal import Principal
    from kafkalite.security.listener_security import ListenerSecurity
    from kafkalite.server.connection import Connection
    from kafkalite.server.logins import Logins
    from kafkalite.server.request_handler import RequestHandler
    from kafkalite.server.transport import Transport
    from kafkalite.services import Services


class _Answers:
    """The responses that the login gives in the name of APIs."""

    def __init__(self, services: Services, context: RequestContext) -> None:
        self._services = services
        self._context = context

    def api_versions(self, request: Request) -> tuple[object, bool]:
        context = self._context
        context.api_key, context.api_version = request.api_key, request.api_version
        response = handle_api_versions(self._services, context, request.body)
        return response, response.error_code == ErrorCode.NONE

    def unsupported_api_versions(self) -> object:
        return unsupported_version()

    def error(self, request: Request, code: ErrorCode, message: str) -> object | None:
        return refuse(request.api_key, request.api_version, request.body, code, message)


def require_login(
    connection: Connection,
    services: Services,
    requests: RequestHandler,
    security: ListenerSecurity,
    logins: Logins,
) -> None:
    """Let a connection on a listener with SASL answer nothing but a login first."""
    from kafkalite.security.authentication import SaslAuthenticator
    from kafkalite.server.sasl_handler import SaslHandler

    assert security.mechanisms is not None
    answers = _Answers(services, connection.context)
    authenticator = SaslAuthenticator(
        security.mechanisms, answers, trio.current_time, services.now_ms
    )
    handler = SaslHandler(
        requests, authenticator, security.max_receive_bytes, security.failure_delay, logins
    )
    connection.log_in_by(handler, security.max_receive_bytes)


def tls_transport(
    sock: socket.socket,
    security: ListenerSecurity,
    identified: Callable[[Principal], None],
    failed: Callable[[str], None],
) -> Transport:
    """The transport of one connection on a listener with TLS.

    On a listener without SASL `identified` is told who the client's certificate names.
    """
    from kafkalite.server.tls_transport import TlsTransport

    assert security.tls is not None

    def established(certificate: bytes | None) -> None:
        if security.principals is not None:
            identified(_principal(security, certificate, failed))

    return TlsTransport(sock, security.tls.context, established, failed)


def _principal(
    security: ListenerSecurity, certificate: bytes | None, failed: Callable[[str], None]
) -> Principal:
    """The user of a certificate. Raises ConnectionRefusedError where no rule names one."""
    from kafkalite.security.key_stores import StoreError
    from kafkalite.security.principal_mapping import NoMatchingRule
    from kafkalite.security.tls import distinguished_name

    assert security.principals is not None
    try:
        name = None if certificate is None else distinguished_name(certificate)
        return security.principals.principal(name)
    except (NoMatchingRule, StoreError) as error:
        failed(str(error))
        raise ConnectionRefusedError(str(error)) from None
