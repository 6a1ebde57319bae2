"""SASL in front of the requests of one connection (security/authentication.py has its states).

Until a client is authenticated its frames go no further. A failed login is answered after
`connection.failed.authentication.delay.ms` and the connection is closed (KIP-306); meanwhile
nothing else of it is read. A session that has ended closes the connection with the next request
(KIP-368).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.security.authentication import AuthenticationFailed, SaslAuthenticator
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.server.connection import Connection
    from kafkalite.server.logins import Logins
    from kafkalite.server.request_handler import RequestHandler


class SaslHandler:
    """Answers the frames of one connection on a listener with SASL."""

    def __init__(
        self,
        requests: RequestHandler,
        authenticator: SaslAuthenticator,
        max_receive_bytes: int,
        failure_delay: float,
        logins: Logins,
    ) -> None:
        """`requests` answers after the login; it may be replaced. `failure_delay` is in seconds."""
        self.requests = requests
        self._authenticator = authenticator
        self._max_receive_bytes = max_receive_bytes
        self._failure_delay = failure_delay
        self._logins = logins
        self._has_failed = False

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The response to one frame, of the login or of a request."""
        if self._has_failed:
            raise CloseConnection("the login failed", is_told=True)
        authenticator = self._authenticator
        if not authenticator.takes(frame):
            session = authenticator.session
            if (
                session is not None
                and session.expires_at is not None
                and trio.current_time() > session.expires_at
            ):
                raise CloseConnection("its session has ended, and it did not log in again")
            return self.requests.respond(connection, frame)
        try:
            if len(frame) > self._max_receive_bytes:
                raise AuthenticationFailed(
                    f"a SASL message of {len(frame)} bytes (sasl.server.max.receive.size is "
                    f"{self._max_receive_bytes})"
                )
            response = authenticator.receive(frame)
        except AuthenticationFailed as failure:
            return self._fail(connection, failure)
        if authenticator.is_complete and authenticator.session is not None:
            self._logins.successful += 1
            connection.context.principal = authenticator.session.principal
            connection.limit_frames()
        else:
            connection.limit_frames(self._max_receive_bytes)
        return response

    def _fail(
        self, connection: Connection, failure: AuthenticationFailed
    ) -> list[Records] | ResponseCoroutine:
        self._has_failed = True
        self._logins.add_failed(connection.context.client_host, str(failure))
        if not failure.is_delayed:
            raise CloseConnection(str(failure), is_told=True)
        return self._close_late(connection, b"".join(map(_bytes, failure.answer or ())))

    async def _close_late(self, connection: Connection, answer: bytes) -> list[Records]:
        await connection.context.connection.move_to_task()
        await trio.sleep(self._failure_delay)
        raise CloseConnection("the login failed", answer, is_told=True)


def _bytes(chunk: Records) -> bytes:
    assert isinstance(chunk, bytes)
    return chunk
