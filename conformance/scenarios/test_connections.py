"""Bytes no client sends: what an honest broker answers, and when it closes the connection."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.harness.broker import Broker
from conformance.harness.raw import (
    RawConnection,
    compact_string,
    header,
    produce_v3,
    produced_v3,
    record_batch,
    string,
)
from conformance.scenarios.conftest import CreateTopic

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, INVALID_REQUEST = 3, 35, 42
NO_TOPICS = struct.pack(">i", 0)
METADATA_V1 = header(METADATA, 1, 1) + NO_TOPICS


@pytest.fixture
def connection(broker: Broker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _others_go_on(broker: Broker) -> Iterator[None]:
    """Whatever happens on one connection, another one is served before and after."""
    with RawConnection(broker.bootstrap) as other:
        other.ask(METADATA_V1)
        yield
        other.ask(METADATA_V1)


def api_versions_v0(answer: bytes) -> tuple[int, int, list[tuple[int, int, int]]]:
    """The correlation id, error and ranges of an ApiVersions answer, version 0."""
    correlation_id, error, count = struct.unpack_from(">ihi", answer)
    ranges = [struct.unpack_from(">hhh", answer, 10 + 6 * i) for i in range(count)]
    assert len(answer) == 10 + 6 * count
    return correlation_id, error, [(key, low, high) for key, low, high in ranges]


def test_api_versions_from_the_future(connection: RawConnection) -> None:
    """Answered as version 0, whatever the body is; the client asks again on the same connection."""
    answer = connection.ask(header(API_VERSIONS, 99, 5, flexible=True) + b"\xff garbage")
    assert api_versions_v0(answer) == (5, UNSUPPORTED_VERSION, [(API_VERSIONS, 0, 4)])
    correlation_id, error, ranges = api_versions_v0(connection.ask(header(API_VERSIONS, 0, 6)))
    assert (correlation_id, error) == (6, 0)
    assert (PRODUCE, 0, 13) in ranges
    assert (FETCH, 4, 18) in ranges
    assert (API_VERSIONS, 0, 4) in ranges


@pytest.mark.parametrize("name", ["", "-librdkafka", "no spaces", "ü"])
def test_a_client_must_have_a_decent_name(connection: RawConnection, name: str) -> None:
    body = compact_string(name) + compact_string("1.0") + b"\0"
    answer = connection.ask(header(API_VERSIONS, 3, 8, flexible=True) + body)
    correlation_id, error = struct.unpack_from(">ih", answer)
    assert (correlation_id, error) == (8, INVALID_REQUEST)
    connection.ask(METADATA_V1)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(header(9999, 0, 1), id="unknown API"),
        pytest.param(header(-1, 0, 1), id="negative API"),
        pytest.param(header(METADATA, 99, 1, flexible=True) + b"\0", id="version too high"),
        pytest.param(header(METADATA, -1, 1), id="version negative"),
        pytest.param(header(FETCH, 3, 1) + bytes(20), id="version too low"),
        pytest.param(header(METADATA, 1, 1), id="no body"),
        pytest.param(header(METADATA, 1, 1) + struct.pack(">i", 1000), id="array too long"),
        pytest.param(header(METADATA, 1, 1) + struct.pack(">i", 2**31 - 1), id="array giant"),
        pytest.param(header(METADATA, 1, 1) + struct.pack(">ih", 1, 50) + b"ab", id="string cut"),
        pytest.param(header(METADATA, 1, 1) + struct.pack(">ih", 1, -1), id="null not allowed"),
        pytest.param(struct.pack(">hh", METADATA, 1), id="header cut"),
        pytest.param(struct.pack(">hhih", METADATA, 1, 1, 300) + b"x", id="client id cut"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="another protocol"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_cannot_be_read_closes_the_connection(connection: RawConnection, frame: bytes) -> None:
    connection.send_frame(frame)
    assert connection.is_closed_by_peer()


@pytest.mark.parametrize("length", [-1, -(2**31), 104857601, 2**31 - 1])
def test_an_impossible_length_closes_the_connection(connection: RawConnection, length: int) -> None:
    connection.send(struct.pack(">i", length) + b"more")
    assert connection.is_closed_by_peer()


def test_a_web_browser_closes_the_connection(connection: RawConnection) -> None:
    """Its first bytes are the length of a giant frame."""
    connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.is_closed_by_peer()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_is_listed_from_0_and_closes_on_the_oldest(
    connection: RawConnection, create_topic: CreateTopic, version: int
) -> None:
    """Kept in the list for clients that look for it there (KAFKA-18659)."""
    topic = create_topic()
    body = (
        struct.pack(">hi", 1, 1000)
        + struct.pack(">i", 1)
        + string(topic)
        + struct.pack(">iii", 1, 0, 0)
    )
    connection.send_frame(header(PRODUCE, version, 1) + body)
    assert connection.is_closed_by_peer()


def test_answers_come_in_the_order_of_the_questions(connection: RawConnection) -> None:
    requests = [header(METADATA, 1, i) + NO_TOPICS for i in range(200)]
    connection.send(b"".join(struct.pack(">i", len(r)) + r for r in requests))
    for i in range(200):
        assert struct.unpack_from(">i", connection.receive()) == (i,)


def test_a_frame_may_come_byte_by_byte(connection: RawConnection) -> None:
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in struct.pack(">i", len(METADATA_V1)) + METADATA_V1:
        connection.send(bytes([byte]))
    assert struct.unpack_from(">i", connection.receive()) == (1,)


def test_a_client_may_leave_in_the_middle(broker: Broker) -> None:
    for part in (b"", b"\0", b"\0\0\1\0", struct.pack(">i", 100) + b"abc"):
        with RawConnection(broker.bootstrap) as connection:
            connection.send(part)
    with RawConnection(broker.bootstrap) as connection:
        linger_not = struct.pack("ii", 1, 0)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
        connection.send_frame(METADATA_V1)


def test_without_acknowledgement_there_is_no_answer(
    connection: RawConnection, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    connection.send_frame(produce_v3(topic, record_batch(b"a", b"b"), acks=0))
    answer = connection.ask(produce_v3(topic, record_batch(b"c"), acks=1, correlation_id=9))
    assert struct.unpack_from(">i", answer) == (9,)
    assert produced_v3(answer) == (0, 2)


def test_without_acknowledgement_an_error_closes_the_connection(
    connection: RawConnection, topic: str
) -> None:
    """The only way to tell the client."""
    connection.send_frame(produce_v3(topic, record_batch(b"a"), acks=0))
    assert connection.is_closed_by_peer()


def test_a_batch_that_was_damaged_on_its_way(
    connection: RawConnection, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    good = record_batch(b"abc")
    corrupt_message = 2
    bad = good[:-2] + b"!" + good[-1:]
    assert produced_v3(connection.ask(produce_v3(topic, bad)))[0] == corrupt_message
    assert produced_v3(connection.ask(produce_v3(topic, good))) == (0, 0)


def test_a_partition_that_is_not_there(
    connection: RawConnection, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    answer = connection.ask(produce_v3(topic, record_batch(b"a"), partition=1))
    assert produced_v3(answer) == (UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_an_unknown_kind_of_acknowledgement(
    connection: RawConnection, create_topic: CreateTopic
) -> None:
    invalid_required_acks = 21
    answer = connection.ask(produce_v3(create_topic(), record_batch(b"a"), acks=2))
    assert produced_v3(answer)[0] == invalid_required_acks


def test_many_that_say_nothing(broker: Broker) -> None:
    with ExitStack() as stack:
        for _ in range(500):
            stack.enter_context(RawConnection(broker.bootstrap))
        with RawConnection(broker.bootstrap) as connection:
            connection.ask(METADATA_V1)
