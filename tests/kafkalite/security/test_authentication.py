"""SASL on a connection: the conversation, both ways of sending tokens, and once again later."""

import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkalite.requests.principal import Principal
from kafkalite.requests.refusals import refuse
from kafkalite.security.authentication import (
    TRANSITIONS,
    AuthenticationFailed,
    Mechanism,
    SaslAuthenticator,
    State,
)
from kafkalite.security.sasl.mechanism import BadCredentials
from kafkalite.security.sasl.plain import PasswordCheck, PlainServer, passwords_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_response, encode_request
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import unsigned_varint
from kafkalite.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

ROOT = Path(__file__).parents[3]
ALICE, BOB = b"\0alice\0secret", b"\0bob\0secret"


class Answers:
    """The answers of the floors above."""

    def api_versions(self, request: Request) -> tuple[object, bool]:
        good = request.body.client_software_name != "bad name"
        return ApiVersionsResponse(error_code=0 if good else 42), good

    def unsupported_api_versions(self) -> object:
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    def error(self, request: Request, code: ErrorCode, message: str) -> object | None:
        return refuse(request.api_key, request.api_version, request.body, code, message)


class Hushed(PlainServer):
    """A mechanism whose reason is not for the client."""

    def evaluate(self, token: bytes) -> bytes:
        raise BadCredentials("there is no user alice")


class Talk:
    """A client's side of one connection."""

    def __init__(
        self,
        max_session_ms: int = 0,
        expiry_ms: int | None = None,
        mechanisms: Mapping[str, Mechanism] | None = None,
    ) -> None:
        self.now = 100.0
        check = passwords_of({"user_alice": "secret", "user_bob": "secret"})
        self.server = SaslAuthenticator(
            mechanisms
            or {
                "PLAIN": Mechanism(lambda: Expiring(check, expiry_ms), max_session_ms),
                "HUSHED": Mechanism(lambda: Hushed(check)),
            },
            Answers(),
            lambda: self.now,
            lambda: 1_000_000,
        )

    def send(self, key: ApiKey, version: int, body: object) -> Any:
        frame = b"".join(map(bytes, encode_request(key, version, 7, "me", body)))[4:]
        assert self.server.takes(frame)
        answer = b"".join(map(bytes, self.server.receive(frame)))
        assert int.from_bytes(answer[:4]) == len(answer) - 4
        correlation_id, message = decode_response(key, version, answer[4:])
        assert correlation_id == 7
        return message

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.send(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(mechanism))

    def token(self, token: bytes = ALICE, version: int = 2) -> Any:
        return self.send(ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(token))

    def versions(self, name: str = "good") -> Any:
        body = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        return self.send(ApiKey.API_VERSIONS, 3, body)


class Expiring(PlainServer):
    """PLAIN with a credential that ends."""

    def __init__(self, check: PasswordCheck, expiry_ms: int | None) -> None:
        super().__init__(check)
        self.credential_expiry_ms = expiry_ms


def test_handshake_and_token() -> None:
    talk = Talk()
    assert talk.versions().error_code == 0
    answer = talk.handshake()
    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "HUSHED"])
    assert not talk.server.is_complete
    answer = talk.token()
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert talk.server.is_complete
    assert talk.server.session is not None
    assert talk.server.session.principal == Principal("User", "alice")


def test_tokens_without_headers() -> None:
    talk = Talk()
    talk.handshake(version=0)
    assert talk.server.receive(ALICE) == [b"\0\0\0\0"]
    assert talk.server.is_complete


def test_a_failure_without_headers_has_no_answer() -> None:
    talk = Talk()
    talk.handshake(version=0)
    with pytest.raises(AuthenticationFailed) as failed:
        talk.server.receive(b"\0alice\0wrong")
    assert failed.value.answer is None
    assert failed.value.is_delayed


def test_bad_credentials_without_headers_close_at_once() -> None:
    talk = Talk()
    talk.handshake("HUSHED", version=0)
    with pytest.raises(AuthenticationFailed) as failed:
        talk.server.receive(b"hush")
    assert failed.value.answer is None
    assert not failed.value.is_delayed


def failure(talk: Talk, key: ApiKey, version: int, body: object) -> tuple[Any, str]:
    with pytest.raises(AuthenticationFailed) as failed:
        talk.send(key, version, body)
    if failed.value.answer is None:
        return None, str(failed.value)
    frame = b"".join(map(bytes, failed.value.answer))[4:]
    return decode_response(key, version, frame)[1], str(failed.value)


def test_a_wrong_password_is_told() -> None:
    talk = Talk()
    talk.handshake()
    answer, _ = failure(
        talk, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(b"\0alice\0wrong")
    )
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert not talk.server.is_complete


def test_what_is_not_for_the_client_is_for_the_log() -> None:
    talk = Talk()
    talk.handshake("HUSHED")
    answer, reason = failure(talk, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(b"x"))
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism HUSHED"
    )
    assert "no user alice" in reason


def test_a_mechanism_that_is_not_enabled() -> None:
    answer, _ = failure(Talk(), ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest("GSSAPI"))
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", "HUSHED"]


def test_mechanisms_come_in_the_order_of_kafka_s_hash_set() -> None:
    names = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    mechanism = Mechanism(lambda: PlainServer(passwords_of({})))
    talk = Talk(mechanisms=dict.fromkeys(names, mechanism))
    answer, _ = failure(talk, ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest("GSSAPI"))
    assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]


def test_another_request_instead_of_a_token() -> None:
    talk = Talk()
    talk.handshake()
    answer, _ = failure(talk, ApiKey.METADATA, 13, MetadataRequest(topics=None))
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize(
    "frame", [b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"\x60" * 30, b"\0\3\0\1"]
)
def test_what_is_no_request_closes_at_once(frame: bytes) -> None:
    with pytest.raises(AuthenticationFailed) as failed:
        Talk().server.receive(frame)
    assert failed.value.answer is None
    assert not failed.value.is_delayed


@pytest.mark.parametrize("place", ["header", "body"])
@pytest.mark.parametrize(("count", "is_taken"), [(4_000, True), (4_100, False), (90_000, False)])
def test_very_many_tagged_fields_are_refused_before_the_login(
    place: str, count: int, is_taken: bool
) -> None:
    """To pass over as many as after it would hold the loop for 15 ms, for a stranger."""
    talk = Talk()
    talk.handshake()
    tags = unsigned_varint(count) + b"\x63\0" * count
    token = unsigned_varint(len(ALICE) + 1) + ALICE
    in_header, in_body = (tags, b"\0") if place == "header" else (b"\0", tags)
    head = struct.pack(">hhih", 36, 2, 7, -1)
    frame = memoryview(head + in_header + token + in_body + bytes(300_000))
    if is_taken:
        assert talk.server.receive(frame)
        return
    with pytest.raises(AuthenticationFailed) as failed:
        talk.server.receive(frame)
    assert failed.value.answer is None


def test_versions_may_be_asked_once_unless_refused() -> None:
    talk = Talk()
    assert talk.versions("bad name").error_code == 42
    assert talk.versions().error_code == 0
    with pytest.raises(AuthenticationFailed):
        talk.versions()


def test_an_unknown_version_of_api_versions_is_answered() -> None:
    talk = Talk()
    frame = b"\0\x12\0\x63\0\0\0\x09\xff\xff"
    answer = b"".join(map(bytes, talk.server.receive(frame)))
    correlation_id, message = decode_response(ApiKey.API_VERSIONS, 0, answer[4:])
    assert (correlation_id, message.error_code) == (9, ErrorCode.UNSUPPORTED_VERSION)
    talk.handshake()


def test_strangers_do_not_cost_the_loop_what_explains_their_frames() -> None:
    """The codec that explains takes longer to load than a turn of the loop."""
    frames = [b"", b"\0\x12\0\x63\0\0\0\x09\xff\xff", b"\0\x11\0\1\0\0\0\7\0\2me\0\x7fx"]
    program = (
        "import sys\n"
        "from tests.kafkalite.security.test_authentication import AuthenticationFailed, Talk\n"
        f"for frame in {frames}:\n"
        "    try:\n"
        "        Talk().server.receive(frame)\n"
        "    except AuthenticationFailed:\n"
        "        pass\n"
        "assert 'construct' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("max_session_ms", "expiry_ms", "lifetime_ms"),
    [
        (0, None, 0),
        (5_000, None, 5_000),
        (0, 1_003_000, 3_000),
        (5_000, 1_003_000, 3_000),
        (2_000, 1_003_000, 2_000),
        (0, 999_000, 0),
    ],
)
def test_the_lifetime_of_a_session(
    max_session_ms: int, expiry_ms: int | None, lifetime_ms: int
) -> None:
    talk = Talk(max_session_ms, expiry_ms)
    talk.handshake()
    assert talk.token().session_lifetime_ms == lifetime_ms
    assert talk.server.session is not None
    has_end = bool(max_session_ms) or expiry_ms is not None
    assert talk.server.session.expires_at == (100.0 + lifetime_ms / 1000 if has_end else None)


@pytest.mark.parametrize(("max_session_ms", "expiry_ms"), [(2**63 - 1, None), (0, 2**63 - 1)])
def test_a_session_of_centuries_closes_at_once(max_session_ms: int, expiry_ms: int | None) -> None:
    talk = Talk(max_session_ms, expiry_ms)
    talk.handshake()
    frame = token_frame()
    with pytest.raises(AuthenticationFailed) as failed:
        talk.server.receive(frame)
    assert failed.value.answer is None
    assert not failed.value.is_delayed


def token_frame() -> bytes:
    request = SaslAuthenticateRequest(ALICE)
    return b"".join(map(bytes, encode_request(ApiKey.SASL_AUTHENTICATE, 2, 7, "me", request)))[4:]


def authenticated(max_session_ms: int = 5_000) -> Talk:
    talk = Talk(max_session_ms)
    talk.handshake()
    talk.token()
    return talk


def test_authenticating_again() -> None:
    talk = authenticated()
    talk.now += 4
    talk.handshake()
    talk.token()
    assert talk.server.session is not None
    assert talk.server.session.expires_at == 109.0


def test_other_requests_are_not_for_the_authenticator() -> None:
    frame = b"".join(map(bytes, encode_request(ApiKey.METADATA, 1, 1, "", MetadataRequest([]))))
    assert not authenticated().server.takes(frame[4:])


def test_not_twice_within_a_second() -> None:
    talk = authenticated()
    talk.handshake()
    talk.token()
    frame = b"\0\x11\0\1" + b"\0" * 8
    assert not talk.server.takes(frame)
    talk.now += 1
    assert talk.server.takes(frame)


def test_not_at_all_when_the_session_has_no_end() -> None:
    assert not authenticated(max_session_ms=0).server.takes(b"\0\x11\0\1" + b"\0" * 8)


def test_the_principal_may_not_change() -> None:
    talk = authenticated()
    talk.handshake()
    answer, _ = failure(talk, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(BOB))
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )


def test_the_mechanism_may_not_change() -> None:
    talk = authenticated()
    assert talk.handshake("HUSHED").error_code == 0
    answer, reason = failure(talk, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(ALICE))
    assert answer is None
    assert reason == (
        "SASL mechanism 'HUSHED' requested by client is not supported for re-authentication of "
        "mechanism 'PLAIN'"
    )


def test_a_mechanism_that_is_not_enabled_closes_at_once_without_an_answer_once_logged_in() -> None:
    talk = authenticated()
    with pytest.raises(AuthenticationFailed, match="Unsupported SASL mechanism 'GSSAPI'") as failed:
        talk.handshake("GSSAPI")
    assert failed.value.answer is None
    assert not failed.value.is_delayed


def test_success_has_an_empty_message_as_in_kafka() -> None:
    talk = Talk()
    talk.handshake()
    assert talk.token().error_message == ""


def test_failure_is_final() -> None:
    assert TRANSITIONS[State.FAILED] == frozenset()
    assert all(State.FAILED in after for state, after in TRANSITIONS.items() if after)
