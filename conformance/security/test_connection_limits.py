"""The limits of connections: of a broker, a listener and an address, asked of both brokers.

PLAINTEXT is the listener for brokers, which the limit of the node does not hold back (KIP-402).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.ports import free_ports
from conformance.security.pair import Client, listeners_at
from conformance.security.test_dynamic_stores import INVALID_REQUEST, altered, cleared
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

NAMES = ("ONE", "OTHER")
MOST = "max.connections"
RATE = "max.connection.creation.rate"
ONE = "listener.name.one."
# A connection that must wait is not answered for so long, and one that need not is.
SILENT_SECONDS = 0.7
# Apache Kafka closes one connection too many in each of its turns of 0.3 s.
CLOSED_SECONDS = 20.0


def with_listeners(plain: int, port_of: Mapping[str, int]) -> dict[str, str]:
    listeners = listeners_at({"PLAINTEXT": plain, **port_of})
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in ("CONTROLLER", "PLAINTEXT", *NAMES)
        ),
    }


class KafkaOfThree(ApacheKafka):
    """Apache Kafka with three listeners."""

    def __init__(self, directory: Path) -> None:
        self.port_of = dict(zip(NAMES, free_ports(2), strict=True))
        super().__init__(directory)

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        self.port_of["PLAINTEXT"] = self.ports[0]
        own = with_listeners(self.ports[0], self.port_of)
        own["listeners"] += f",CONTROLLER://127.0.0.1:{self.controller_ports[0]}"
        super().format(node_id, {**properties, **own})


class KafkaliteOfThree(Kafkalite):
    """kafkalite with the same listeners."""

    def __init__(self, directory: Path) -> None:
        self.port_of = dict(zip(("PLAINTEXT", *NAMES), free_ports(3), strict=True))
        super().__init__(directory, with_listeners(self.port_of["PLAINTEXT"], self.port_of))

    def listener_flags(self) -> list[str]:
        return []


OfThree = KafkaOfThree | KafkaliteOfThree


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OfThree, OfThree]]:
    directory = tmp_path_factory.mktemp("limits")
    with ExitStack() as stack:
        ours = KafkaliteOfThree(directory / "kafkalite")
        stack.callback(ours.stop)
        theirs = KafkaOfThree(directory / "kafka")
        stack.callback(theirs.stop)
        yield theirs, ours


def answers(client: Client) -> bool:
    """True if the broker serves a connection, False while it waits."""
    client.socket.settimeout(SILENT_SECONDS)
    try:
        return client.ask(ApiVersionsRequest(), 0) is not None
    except TimeoutError:
        return False


def served(broker: OfThree, listeners: Iterable[str], stack: ExitStack) -> list[Client]:
    """Connections that are served, each to the next listener; the last one waits."""
    clients = []
    for listener in listeners:
        clients.append(stack.enter_context(Client(("127.0.0.1", broker.port_of[listener]))))
        if not answers(clients[-1]):
            break
    return clients


def settled(
    broker: OfThree, listeners: tuple[str, ...], most: int, stack: ExitStack
) -> list[Client]:
    """`most` connections that are served, and one that waits, when a change has come into force."""
    give_up_at = time.monotonic() + CLOSED_SECONDS
    while True:
        with ExitStack() as own:
            clients = served(broker, listeners * (most + 2), own)
            if len(clients) == most + 1 or time.monotonic() > give_up_at:
                stack.push(own.pop_all())
                return clients


def is_closed(client: Client) -> bool:
    client.socket.settimeout(CLOSED_SECONDS)
    try:
        return client.socket.recv(1) == b""
    except ConnectionError:
        return True


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Connections that are open until the end of a test."""
    with ExitStack() as stack:
        yield stack


LISTENERS = ("", ONE, "listener.name.plaintext.", "listener.name.none.")
HOSTS = ("x", "1.2.3.4:x", "a b:1", "::1:4", "[::1]:4", "1.2.3.4:", ",", "a:1,,b:2", "é:1")
CHANGES = [
    *({f"{of}{MOST}": text} for of in LISTENERS for text in ("0", "-1", "x", "")),
    *({f"{of}{RATE}": text} for of in LISTENERS for text in ("0", "-1")),
    *({"max.connections.per.ip.overrides": f"127.0.0.9:-1,{hosts}"} for hosts in HOSTS),
    {MOST: "0", f"{ONE}{MOST}": "1"},
    {f"{ONE}{MOST}": "0", f"{ONE}{RATE}": "0"},
    {"max.connections.per.ip": "0"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": ","},
    {f"{ONE}max.connections.per.ip": "0"},
    {f"{ONE}max.connections.per.ip": "-1"},
]


@pytest.mark.parametrize("node", ["1", ""], ids=["node", "all"])
def test_what_they_may_be(brokers: tuple[OfThree, OfThree], node: str) -> None:
    told: list[dict[str, tuple[int, str | None]]] = []
    for each in brokers:
        told.append({})
        for change in CHANGES:
            told[-1][str(change)] = altered(each, change, node)
            assert cleared(each, change, node) == (0, None)
    assert told[0] == told[1]
    # A listener that nobody could reach any more.
    assert told[0][str({f"{ONE}{MOST}": "0"})][0] == INVALID_REQUEST


@pytest.mark.parametrize("number", [0, 1], ids=["kafka", "kafkalite"])
def test_a_listener_has_its_own(
    brokers: tuple[OfThree, OfThree], number: int, stack: ExitStack
) -> None:
    broker = brokers[number]
    assert altered(broker, {f"{ONE}{MOST}": "2"}) == (0, None)
    clients = settled(broker, ("ONE",), 2, stack)
    assert [answers(each) for each in clients] == [True, True, False]
    # It alone is full.
    others = served(broker, ("OTHER", "PLAINTEXT"), stack)
    assert [answers(each) for each in others] == [True, True]
    # The one that waits is served when another goes.
    clients[0].socket.close()
    clients[2].socket.settimeout(CLOSED_SECONDS)
    assert clients[2].ask(ApiVersionsRequest(), 0) is not None
    assert cleared(broker, [f"{ONE}{MOST}"]) == (0, None)


@pytest.mark.parametrize("number", [0, 1], ids=["kafka", "kafkalite"])
def test_brokers_are_let_in_where_the_node_is_full(
    brokers: tuple[OfThree, OfThree], number: int, stack: ExitStack
) -> None:
    broker = brokers[number]
    assert altered(broker, {MOST: "3"}) == (0, None)
    clients = settled(broker, NAMES, 3, stack)
    assert [answers(each) for each in clients] == [True, True, True, False]
    peers = served(broker, ["PLAINTEXT"] * 4, stack)
    assert [answers(each) for each in peers] == [True, True, True, False]
    # The others had to go.
    assert [is_closed(each) for each in clients[:3]] == [True] * 3
    assert not answers(clients[3])
    for each in peers:
        each.socket.close()
    assert cleared(broker, [MOST]) == (0, None)


@pytest.mark.parametrize("number", [0, 1], ids=["kafka", "kafkalite"])
def test_a_listener_has_its_own_pace(brokers: tuple[OfThree, OfThree], number: int) -> None:
    """One a second are ten in the ten seconds of Kafka's windows; each further one waits."""
    broker = brokers[number]
    assert altered(broker, {f"{ONE}{RATE}": "1"}) == (0, None)
    quick = seconds_of_connections(broker, "OTHER", 13)
    assert seconds_of_connections(broker, "ONE", 13) > max(2, quick)
    assert cleared(broker, [f"{ONE}{RATE}"]) == (0, None)


def seconds_of_connections(broker: OfThree, listener: str, count: int) -> float:
    """The time in which so many are served, one after the other."""
    begun = time.monotonic()
    for _ in range(count):
        with Client(("127.0.0.1", broker.port_of[listener])) as client:
            assert client.ask(ApiVersionsRequest(), 0) is not None
    return time.monotonic() - begun
