"""Sessions that end, and clients that log in again (KIP-368), asked of both brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from conformance.security.conversations import (
    CLAIMS,
    bearer,
    by_token,
    frame,
    handshake,
    held,
    plain,
    scram,
    token,
    unsecured,
)
from conformance.security.pair import SECURITY, Client, Secured, secured_pair
from conformance.security.ways import give_password
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

Pair = tuple[Secured, Secured]
SESSION_MS = 2_000
SESSION = SESSION_MS / 1000
HOUR_MS = 3_600_000
LISTENER = "listener.name.sasl_plaintext."
SESSIONS = {
    **SECURITY,
    "connections.max.reauth.ms": str(HOUR_MS),
    f"{LISTENER}plain.connections.max.reauth.ms": str(SESSION_MS),
    f"{LISTENER}scram-sha-256.connections.max.reauth.ms": "0",
    f"{LISTENER}oauthbearer.connections.max.reauth.ms": str(SESSION_MS),
}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with secured_pair(tmp_path_factory.mktemp("sessions"), SESSIONS) as pair:
        for broker in pair:
            give_password(broker, "alice", "a")
            give_password(broker, "bob", "b")
        yield pair


def said(client: Client, data: bytes, version: int = 2) -> tuple[int, str | None, int] | None:
    """The answer to a token: code, message, and the lifetime of the session. None: closed."""
    answer = client.ask(SaslAuthenticateRequest(data), version)
    if answer is None:
        return None
    return answer.error_code, answer.error_message, answer.session_lifetime_ms


def begun(client: Client, mechanism: str = "PLAIN") -> int | None:
    """The error code of a handshake. None: closed."""
    answer = client.ask(SaslHandshakeRequest(mechanism), 1)
    return None if answer is None else int(answer.error_code)


def logged_in(broker: Secured, user: str = "alice") -> Client:
    client = Client(broker.address())
    assert begun(client) == 0
    assert said(client, plain(user, user[0]))
    return client


def is_served(client: Client) -> bool:
    return client.ask(MetadataRequest(topics=[]), 12) is not None


def lifetime(answer: bytes) -> int:
    return int(decode_response(ApiKey.SASL_AUTHENTICATE, 2, answer)[1].session_lifetime_ms)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_answer_tells_the_lifetime(brokers: Pair, version: int) -> None:
    told: list[object] = []
    for broker in brokers:
        with Client(broker.address()) as client:
            begun(client)
            told.append(said(client, plain("alice", "a"), version))
    assert told[0] == told[1] == (0, "", SESSION_MS if version else 0)


@pytest.mark.parametrize(
    ("mechanism", "expected"), [("SCRAM-SHA-256", 0), ("SCRAM-SHA-512", HOUR_MS)]
)
def test_each_mechanism_has_its_own(brokers: Pair, mechanism: str, expected: int) -> None:
    told: list[int] = []
    for broker in brokers:
        with Client(broker.address()) as client:
            told.append(lifetime(held(client, scram(mechanism)())))
    assert told == [expected, expected]


@pytest.mark.parametrize("seconds", [1, 30])
def test_a_token_s_end_is_a_session_s(brokers: Pair, seconds: int) -> None:
    """The shorter of both counts: the token's, or the listener's."""
    told: list[int] = []
    for broker in brokers:
        with Client(broker.address()) as client:
            begun(client, "OAUTHBEARER")
            claims = {**CLAIMS, "iat": time.time() - 10, "exp": time.time() + seconds}
            answer = said(client, bearer(unsecured(claims)))
            assert answer is not None
            assert answer[0] == 0, answer
            told.append(answer[2])
    if seconds * 1000 > SESSION_MS:
        assert told == [SESSION_MS, SESSION_MS]
    else:
        # The token's end is rounded to a millisecond, the time of the login is cut to one.
        assert all(0 < each <= 1001 for each in told), told


def test_a_delegation_token_s_end_is_a_session_s(brokers: Pair) -> None:
    told: list[int] = []
    for broker in brokers:
        with logged_in(broker) as owner:
            made = owner.ask(CreateDelegationTokenRequest(max_lifetime_ms=60_000))
            assert made.error_code == 0, made
        client, found = by_token(broker.address(), made)
        client.socket.close()
        told.append(found.session_lifetime_ms)
    assert all(20_000 < each <= 60_000 for each in told), told


def test_a_session_that_has_ended_closes_with_the_next_request(brokers: Pair) -> None:
    """Nothing happens at its end: a client that is silent stays."""
    seen: list[tuple[bool, bool, bool]] = []
    for broker in brokers:
        with logged_in(broker) as client, logged_in(broker) as other:
            before = is_served(client)
            time.sleep(SESSION + 0.3)
            client.socket.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.socket.recv(1)
            client.socket.settimeout(10)
            after = is_served(client)
            begun(other)
            again = said(other, plain("alice", "a")) is not None and is_served(other)
            seen.append((before, after, again))
    assert seen == [(True, False, True)] * 2


def test_a_client_without_headers_has_a_session_too(brokers: Pair) -> None:
    seen: list[tuple[bool, bool]] = []
    for broker in brokers:
        with Client(broker.address()) as client:
            client.exchange(handshake(version=0))
            assert client.exchange(frame(plain("alice", "a"))) == b""
            before = is_served(client)
            time.sleep(SESSION + 0.3)
            seen.append((before, is_served(client)))
    assert seen == [(True, False)] * 2


def test_logging_in_again_makes_it_longer(brokers: Pair) -> None:
    seen: list[list[object]] = []
    for broker in brokers:
        with logged_in(broker) as client:
            heard: list[object] = []
            for _ in range(2):
                time.sleep(SESSION * 0.7)
                heard += [begun(client), said(client, plain("alice", "a")), is_served(client)]
            time.sleep(SESSION + 0.3)
            heard.append(is_served(client))
            seen.append(heard)
    good = [0, (0, "", SESSION_MS), True]
    assert seen == [[*good, *good, False]] * 2


def test_a_session_without_an_end_is_not_begun_again(brokers: Pair) -> None:
    """The handshake is a request like any other then, and refused."""
    seen: list[tuple[int | None, bool]] = []
    for broker in brokers:
        with Client(broker.address()) as client:
            assert lifetime(held(client, scram("SCRAM-SHA-256")())) == 0
            seen.append((begun(client, "SCRAM-SHA-256"), is_served(client)))
    assert seen == [(ErrorCode.ILLEGAL_SASL_STATE, True)] * 2


def test_a_frame_too_large_closes_a_client_that_logs_in_again(brokers: Pair) -> None:
    """Its size is enough."""
    for broker in brokers:
        with logged_in(broker) as client:
            assert begun(client) == 0
            assert client.exchange((600_000).to_bytes(4)) is None


def test_the_login_and_a_request_in_one_piece(brokers: Pair) -> None:
    """A client need not wait for the answers."""
    seen: list[tuple[int, bool]] = []
    for broker in brokers:
        with logged_in(broker) as client:
            client.socket.sendall(handshake() + token(plain("alice", "a")))
            client.send(MetadataRequest(topics=[]), 12)
            frames = [client.exchange(b"") for _ in range(3)]
            seen.append((sum(each is not None for each in frames), is_served(client)))
    assert seen == [(3, True)] * 2


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_the_principal_may_not_change(brokers: Pair, mechanism: str) -> None:
    """That connection ends, and no other of the same user."""
    seen: list[list[object]] = []
    for broker in brokers:
        with Client(broker.address()) as client, Client(broker.address()) as other:
            for each in (client, other):
                assert _login(each, mechanism, "alice") == (0, "")
            heard: list[object] = [_login(client, mechanism, "bob"), is_served(client)]
            heard.append(is_served(other))
            seen.append(heard)
    assert seen[0] == seen[1]
    assert seen[0][1:] == [False, True]
    assert "Cannot change principals" in str(seen[0][0])


def _login(client: Client, mechanism: str, user: str) -> tuple[int, str | None] | None:
    """The last answer's code and message."""
    if mechanism.startswith("SCRAM"):
        answer = held(client, scram(mechanism, user[0], user=user)())
        if answer is None:
            return None
        found = decode_response(ApiKey.SASL_AUTHENTICATE, 2, answer)[1]
        return found.error_code, found.error_message
    begun(client, mechanism)
    data = plain(user, user[0])
    if mechanism == "OAUTHBEARER":
        data = bearer(unsecured({**CLAIMS, "sub": user}))
    heard = said(client, data)
    return None if heard is None else heard[:2]


def waiting(milliseconds: int) -> FetchRequest:
    partition = FetchPartition(partition=0, partition_max_bytes=1000)
    return FetchRequest(
        max_wait_ms=milliseconds,
        min_bytes=1,
        max_bytes=1000,
        topics=[FetchTopic(topic="silent", partitions=[partition])],
    )


def test_a_request_that_waits_is_answered_after_the_session(brokers: Pair) -> None:
    seen: list[tuple[bool, bool]] = []
    for broker in brokers:
        with Client(broker.address("PLAINTEXT")) as admin:
            topic = CreatableTopic(name="silent", num_partitions=1, replication_factor=1)
            assert admin.ask(CreateTopicsRequest(topics=[topic])).topics[0].error_code == 0
            deadline = time.monotonic() + 30
            while admin.ask(waiting(0), 12).responses[0].partitions[0].error_code:
                assert time.monotonic() < deadline  # its leader takes its time
        with logged_in(broker, "root") as client:
            began = time.monotonic()
            answered = client.ask(waiting(SESSION_MS + 500), 12) is not None
            assert time.monotonic() - began > SESSION
            time.sleep(0.3)
            seen.append((answered, is_served(client)))
    assert seen == [(True, False)] * 2
