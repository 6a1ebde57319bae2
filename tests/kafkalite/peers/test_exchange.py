"""One request at a time; whatever is not its answer closes the connection."""

from __future__ import annotations

import pytest

from kafkalite.peers.exchange import TRANSITIONS, Exchange, Turn, Unserved
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.wire.messages.fetch import FetchRequest, FetchResponse
from kafkalite.wire.messages.heartbeat import HeartbeatRequest

FETCH = 1


def greeted(lowest: int, highest: int) -> Exchange:
    exchange = Exchange("me")
    versions = ApiVersion(api_key=FETCH, min_version=lowest, max_version=highest)
    exchange.versions_received(ApiVersionsResponse(api_keys=[versions]))
    return exchange


def answer(correlation_id: int = 1) -> bytes:
    return join(encode_response(FETCH, 17, correlation_id, FetchResponse(session_id=9)))


def test_the_greeting_needs_no_versions() -> None:
    exchange = Exchange("me")
    request = decode_request(exchange.request(exchange.versions_request())[4:])
    assert (request.api_key, request.api_version, request.client_id) == (18, 3, "me")


@pytest.mark.parametrize(("served", "version"), [((0, 17), 17), ((4, 99), 18)])
def test_the_highest_version_that_both_know(served: tuple[int, int], version: int) -> None:
    exchange = greeted(*served)
    frame = exchange.request(FetchRequest())
    assert decode_request(frame[4:]).api_version == version


@pytest.mark.parametrize("served", [(0, 3), (19, 30)])
def test_no_version_in_common(served: tuple[int, int]) -> None:
    with pytest.raises(Unserved, match="FETCH"):
        greeted(*served).request(FetchRequest())
    with pytest.raises(Unserved):
        greeted(*served).request(HeartbeatRequest())


def test_an_answer_may_come_byte_by_byte() -> None:
    exchange = greeted(0, 17)
    exchange.request(FetchRequest())
    *most, last = answer()
    assert all(exchange.receive(bytes([byte])) is None for byte in most)
    assert exchange.receive(bytes([last])).session_id == 9
    assert exchange.turn is Turn.IDLE


@pytest.mark.parametrize(
    "data",
    [answer(2), answer() + b"x", b"\0\0\0\1", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"],
    ids=["another's", "more than one", "too short", "too long", "negative"],
)
def test_what_is_no_answer(data: bytes) -> None:
    exchange = greeted(0, 17)
    exchange.request(FetchRequest())
    with pytest.raises(ProtocolViolation):
        exchange.receive(data)


def test_nobody_answers_before_they_are_asked() -> None:
    with pytest.raises(ProtocolViolation, match="without a request"):
        greeted(0, 17).receive(answer())


def test_a_second_request_waits_for_the_first() -> None:
    exchange = greeted(0, 17)
    exchange.request(FetchRequest())
    with pytest.raises(ValueError, match="cannot become"):
        exchange.request(FetchRequest())


def test_closed_is_closed() -> None:
    assert TRANSITIONS[Turn.CLOSED] == {Turn.CLOSED}
