"""What stands between the connections of a listener and the requests: TLS, SASL, who the client is.

A listener with PLAINTEXT has neither, and its connections go straight to the dispatcher.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from kafkalite.apis.api_versions import handle as handle_api_versions
from kafkalite.apis.api_versions import unsupported_version
from kafkalite.requests.context import RequestContext
from kafkalite.security.refusals import refuse
from kafkalite.wire.codec import Request
from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.security.security import ListenerSecurity
    from kafkalite.server.failed_logins import FailedLogins
    from kafkalite.server.sasl_handler import Requests
    from kafkalite.server.transport import Transport
    from kafkalite.services import Services


class _Answers:
    """What the login answers in the name of APIs."""

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


def sasl_handler(
    services: Services,
    requests: Requests,
    context: RequestContext,
    security: ListenerSecurity,
    failures: FailedLogins,
) -> Requests:
    """What answers the frames of one connection on a listener with SASL."""
    from kafkalite.security.authentication import SaslAuthenticator
    from kafkalite.server.sasl_handler import SaslHandler

    assert security.mechanisms is not None
    authenticator = SaslAuthenticator(
        security.mechanisms, _Answers(services, context), trio.current_time, services.now_ms
    )
    return SaslHandler(
        requests, authenticator, security.max_receive_bytes, security.failure_delay, failures
    )


def tls_transport(
    sock: socket.socket,
    security: ListenerSecurity,
    context_of: Callable[[], RequestContext],
    failed: Callable[[str], None],
) -> Transport:
    """The transport of one connection on a listener with TLS.

    On a listener without SASL the client is who its certificate names, or ANONYMOUS.
    """
    from kafkalite.server.tls_transport import TlsTransport

    assert security.context is not None

    def established(certificate: bytes | None) -> None:
        if security.principals is not None:
            context_of().principal = _principal(security, certificate, failed)

    return TlsTransport(sock, security.context, established, failed)


def _principal(
    security: ListenerSecurity, certificate: bytes | None, failed: Callable[[str], None]
) -> Any:
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
