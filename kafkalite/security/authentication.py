"""SASL on one connection: from its first frame to an authenticated principal, and once again later.

    state          the client sends                                     next
    INITIAL        ApiVersions that is answered                         HANDSHAKE
    INITIAL        ApiVersions of a version or with a name that is not  VERSIONS_OR_HANDSHAKE
    INITIAL        SaslHandshake of an enabled mechanism                AUTHENTICATE
    AUTHENTICATE   tokens, until the mechanism is satisfied             COMPLETE
    COMPLETE       SaslHandshake again, if the session has an end       AUTHENTICATE
    any            anything else                                        FAILED

After SaslHandshake 0 tokens come as they are; after SaslHandshake 1 in SaslAuthenticate requests
(KIP-152). In both a frame has its four bytes of size in front, so that the channel cuts them alike.

A failure is answered after `connection.failed.authentication.delay.ms` (KIP-306), and the
connection is closed; what Kafka takes for no failed login but for a broken connection is closed at
once. Logging in again is KIP-368. Sources: Kafka's SaslServerAuthenticator, KafkaChannel, Selector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from kafkalite.requests.principal import USER_TYPE, Principal
from kafkalite.requests.slices import begun
from kafkalite.security.sasl.mechanism import BadCredentials, SaslFailure, SaslServer
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, encode_response
from kafkalite.wire.errors import (
    ErrorCode,
    Malformed,
    ProtocolViolation,
    UnsupportedVersion,
    too_many_elements,
)
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.headers import read_header
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeResponse
from kafkalite.wire.parse_support import FEW_ELEMENTS, ManyElements

# Authenticating again sooner than this is refused.
MIN_REAUTHENTICATION_SECONDS: Final = 1.0
# Kafka counts the end of a session in nanoseconds: of a longer one it makes an exception.
_MAX_SESSION_MS: Final = (2**63 - 1) // 1_000_000
# Slices of a parser that together have FEW_ELEMENTS tagged fields: some 2 ms.
_MOST_SLICES: Final = FEW_ELEMENTS // 127


class State(Enum):
    INITIAL = "INITIAL_REQUEST"
    VERSIONS_OR_HANDSHAKE = "HANDSHAKE_OR_VERSIONS_REQUEST"
    HANDSHAKE = "HANDSHAKE_REQUEST"
    AUTHENTICATE = "AUTHENTICATE"
    COMPLETE = "COMPLETE"
    WRONG_MECHANISM = "REAUTH_BAD_MECHANISM"
    FAILED = "FAILED"


TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    State.INITIAL: frozenset(
        {State.VERSIONS_OR_HANDSHAKE, State.HANDSHAKE, State.AUTHENTICATE, State.FAILED}
    ),
    State.VERSIONS_OR_HANDSHAKE: frozenset(
        {State.VERSIONS_OR_HANDSHAKE, State.HANDSHAKE, State.AUTHENTICATE, State.FAILED}
    ),
    State.HANDSHAKE: frozenset({State.AUTHENTICATE, State.FAILED}),
    State.AUTHENTICATE: frozenset({State.AUTHENTICATE, State.COMPLETE, State.FAILED}),
    State.COMPLETE: frozenset({State.AUTHENTICATE, State.WRONG_MECHANISM, State.FAILED}),
    State.WRONG_MECHANISM: frozenset({State.FAILED}),
    State.FAILED: frozenset(),
}


class AuthenticationFailed(Exception):
    """The connection is to be closed, after `answer` if there is one and the delay.

    It is closed at once if not `is_delayed`. The text is for the log.
    """

    def __init__(
        self, reason: str, answer: list[Records] | None = None, *, is_delayed: bool = True
    ) -> None:
        super().__init__(reason)
        self.answer = answer
        self.is_delayed = is_delayed


@dataclass(frozen=True, slots=True)
class Mechanism:
    """An enabled mechanism of a listener, and `connections.max.reauth.ms` for it; 0 is never."""

    start: Callable[[], SaslServer]
    max_session_ms: int = 0


class Answers(Protocol):
    """Answers that belong to APIs: given by the floors above."""

    def api_versions(self, request: Request) -> tuple[object, bool]:
        """The answer to ApiVersions, and whether it is one that lets the client go on."""
        ...

    def unsupported_api_versions(self) -> object:
        """The answer to ApiVersions of an unknown version, in version 0."""
        ...

    def error(self, request: Request, code: ErrorCode, message: str) -> object | None:
        """Any API's answer that says just this."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """An authenticated client. `expires_at` is in seconds of the given clock; None is never."""

    principal: Principal
    expires_at: float | None = None


class SaslAuthenticator:
    """The SASL side of one connection."""

    def __init__(
        self,
        mechanisms: Mapping[str, Mechanism],
        answers: Answers,
        clock: Callable[[], float],
        wall_clock_ms: Callable[[], int],
    ) -> None:
        """`clock` gives seconds, `wall_clock_ms` milliseconds since 1970."""
        self._mechanisms = mechanisms
        self._answers = answers
        self._clock = clock
        self._wall_clock_ms = wall_clock_ms
        self._state = State.INITIAL
        self._server: SaslServer | None = None
        self._has_headers = False
        self._previous: Session | None = None
        self._wrong_mechanism = ""
        self._last_reauthentication: float | None = None
        self.mechanism: str | None = None
        self.session: Session | None = None

    @property
    def is_complete(self) -> bool:
        """True if requests are to be answered now."""
        return self._state is State.COMPLETE

    def takes(self, frame: InMemory) -> bool:
        """True if a frame is for the authenticator: all until it is complete, then a handshake.

        Beginning again within a second, or when the session has no end, is left to the API, which
        refuses it.
        """
        if self._state is not State.COMPLETE:
            return True
        if int.from_bytes(frame[:2]) != ApiKey.SASL_HANDSHAKE:
            return False
        if self.session is None or self.session.expires_at is None:
            return False
        now, last = self._clock(), self._last_reauthentication
        if last is not None and now - last < MIN_REAUTHENTICATION_SECONDS:
            return False
        self._last_reauthentication = now
        return True

    def receive(self, frame: InMemory) -> list[Records]:
        """The answer to a frame, with its size in front. Raises AuthenticationFailed."""
        try:
            if self._state is State.AUTHENTICATE:
                return self._token(bytes(frame))
            if self._state is State.WRONG_MECHANISM:
                raise AuthenticationFailed(self._wrong_mechanism)
            return self._request(frame)
        except AuthenticationFailed:
            self._become(State.FAILED)
            raise
        except ProtocolViolation as error:
            is_first = self._state is State.INITIAL
            self._become(State.FAILED)
            reason = f"{error} during SASL handshake"
            if is_first:
                reason += (
                    " (the client may be set to another security protocol, or be no Kafka client)"
                )
            raise AuthenticationFailed(reason, is_delayed=False) from None

    def _become(self, state: State) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state} to {state}"
        self._state = state

    @property
    def _verb(self) -> str:
        return "authentication" if self._previous is None else "re-authentication"

    # Handshake

    def _request(self, frame: InMemory) -> list[Records]:
        key = int.from_bytes(frame[:2], signed=True)
        if key not in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE):
            raise ProtocolViolation(f"an unexpected request with API key {key}")
        try:
            request = _request_of(frame)
        except UnsupportedVersion as error:
            if key != ApiKey.API_VERSIONS or self._state is State.HANDSHAKE:
                raise
            self._become(State.VERSIONS_OR_HANDSHAKE)
            body = self._answers.unsupported_api_versions()
            return encode_response(ApiKey.API_VERSIONS, 0, error.correlation_id, body)
        if key == ApiKey.SASL_HANDSHAKE:
            return self._handshake(request)
        if self._state not in (State.INITIAL, State.VERSIONS_OR_HANDSHAKE):
            raise ProtocolViolation(f"ApiVersions in state {self._state.value}")
        body, goes_on = self._answers.api_versions(request)
        self._become(State.HANDSHAKE if goes_on else State.VERSIONS_OR_HANDSHAKE)
        return _encoded(request, body)

    def _handshake(self, request: Request) -> list[Records]:
        wanted: str = request.body.mechanism
        names = in_map_order(self._mechanisms)
        self._has_headers = request.api_version >= 1
        if wanted not in self._mechanisms:
            refusal = SaslHandshakeResponse(
                error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=names
            )
            reason = f"Unsupported SASL mechanism {wanted!r}"
            # Kafka closes at once and without an answer once a client is logged in.
            if self.session is not None:
                raise AuthenticationFailed(reason, is_delayed=False)
            raise AuthenticationFailed(reason, _encoded(request, refusal))
        accepted = _encoded(
            request, SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=names)
        )
        self._previous = self.session
        if self._previous is not None and wanted != self.mechanism:
            self._wrong_mechanism = (
                f"SASL mechanism '{wanted}' requested by client is not supported for "
                f"re-authentication of mechanism '{self.mechanism}'"
            )
            self._become(State.WRONG_MECHANISM)
            return accepted
        self.mechanism = wanted
        self._server = self._mechanisms[wanted].start()
        self._become(State.AUTHENTICATE)
        return accepted

    # Tokens

    def _token(self, frame: bytes) -> list[Records]:
        if not self._has_headers:
            try:
                token = self._evaluate(frame)
            except SaslFailure as error:
                raise AuthenticationFailed(str(error)) from None
            except BadCredentials as error:  # for Kafka the connection is broken
                raise AuthenticationFailed(str(error), is_delayed=False) from None
            self._complete_if_done()
            return [len(token).to_bytes(4) + token]
        request = _request_of(frame)
        if request.api_key is not ApiKey.SASL_AUTHENTICATE:
            reason = (
                f"Unexpected Kafka request of type {request.api_key.name} during SASL "
                "authentication."
            )
            body = self._answers.error(request, ErrorCode.ILLEGAL_SASL_STATE, reason)
            answer = None if body is None else _encoded(request, body)
            raise AuthenticationFailed(reason, answer)
        try:
            token = self._evaluate(request.body.auth_bytes)
        except SaslFailure as error:
            raise _failed(request, str(error), str(error)) from None
        except BadCredentials as error:
            # The reason may say whether the user exists: it is not for the client.
            message = (
                f"Authentication failed during {self._verb} due to invalid credentials with SASL "
                f"mechanism {self.mechanism}"
            )
            raise _failed(request, f"{message}: {error}", message) from None
        lifetime_ms = self._complete_if_done()
        return _encoded(
            request,
            SaslAuthenticateResponse(
                error_code=ErrorCode.NONE,
                auth_bytes=token,
                session_lifetime_ms=lifetime_ms,
            ),
        )

    def _evaluate(self, token: bytes) -> bytes:
        assert self._server is not None
        answer = self._server.evaluate(token)
        if self._server.is_complete and self._previous is not None:
            old, new = self._previous.principal, self._principal()
            if old != new:
                raise SaslFailure(
                    "Cannot change principals during re-authentication from "
                    f"{old.type}.{old.name}: {new.type}.{new.name}"
                )
        return answer

    def _principal(self) -> Principal:
        assert self._server is not None
        return Principal(
            USER_TYPE,
            self._server.user,
            token_authenticated=self._server.token_authenticated,
        )

    def _complete_if_done(self) -> int:
        """The lifetime of the session in milliseconds, 0 if it has no end or is not there yet.

        Raises ProtocolViolation for one of some three centuries, as Kafka cannot count them.
        """
        server = self._server
        assert server is not None
        assert self.mechanism is not None
        if not server.is_complete:
            return 0
        limits: list[int] = []
        if server.credential_expiry_ms is not None:
            limits.append(max(server.credential_expiry_ms - self._wall_clock_ms(), 0))
        if (max_session_ms := self._mechanisms[self.mechanism].max_session_ms) > 0:
            limits.append(max_session_ms)
        lifetime_ms = min(limits, default=None)
        if lifetime_ms is not None and lifetime_ms > _MAX_SESSION_MS:
            raise ProtocolViolation(f"a session of {lifetime_ms} ms")
        expires_at = None if lifetime_ms is None else self._clock() + lifetime_ms / 1000
        self.session = Session(self._principal(), expires_at)
        self._server = None
        self._become(State.COMPLETE)
        return lifetime_ms or 0


def _request_of(frame: InMemory) -> Request:
    """A request from its frame. Raises ProtocolViolation, UnsupportedVersion.

    A malformed one is not explained: that takes longer than the loop has, and a stranger sent it.
    """
    if len(frame) > FEW_ELEMENTS:  # elements of views are counted
        frame = memoryview(frame)
    api_key, version, correlation_id, client_id_size = read_header(frame)
    try:
        codec = codec_of(api_key, version)
    except KeyError:
        raise UnsupportedVersion(api_key, version, correlation_id, None) from None
    try:
        client_id, body = codec.parse(frame, client_id_size)
    except ManyElements:
        raise too_many_elements(FEW_ELEMENTS) from None
    except Malformed:  # or just odd, and large
        parsed = begun(codec.parse_in_slices(frame), _MOST_SLICES + 1)
        if parsed is None:
            raise too_many_elements(FEW_ELEMENTS) from None
        client_id, body = parsed
    return Request(codec.api_key, version, correlation_id, client_id, body)


def _encoded(request: Request, body: object) -> list[Records]:
    return encode_response(request.api_key, request.api_version, request.correlation_id, body)


def _failed(request: Request, reason: str, message: str) -> AuthenticationFailed:
    body = SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message
    )
    return AuthenticationFailed(reason, _encoded(request, body))
