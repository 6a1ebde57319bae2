"""Connections counted and held to their limits."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.requests.hosts import host_text
from kafkalite.server.connection_counts import ConnectionCounts

LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,ONE://127.0.0.1:0,OTHER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ONE:PLAINTEXT,OTHER:PLAINTEXT",
    "kafkalite.nodes": "2",
}
MOST = "max.connections"
OVERRIDES = "max.connections.per.ip.overrides"


def listener(name: str, node_id: int = 1) -> Any:
    return SimpleNamespace(node_id=node_id, name=name)


def connection(name: str, last_active: float = 0, node_id: int = 1) -> Any:
    return SimpleNamespace(
        listener=listener(name, node_id), client_host="10.0.0.1", last_active=last_active
    )


def counts(**configs: str) -> tuple[BrokerConfig, ConnectionCounts]:
    config = BrokerConfig(LISTENERS | configs)
    made = ConnectionCounts(config)
    config.subscribe(made.look_again)
    return config, made


def full(made: ConnectionCounts, node_id: int = 1) -> str:
    """The listeners that are full."""
    names = ("PLAINTEXT", "ONE", "OTHER")
    return " ".join(name for name in names if made.is_full(listener(name, node_id)))


def test_a_listener_is_full() -> None:
    _, made = counts(**{f"listener.name.one.{MOST}": "2"})
    first = connection("ONE")
    made.add(first)
    made.add(connection("OTHER"))
    assert full(made) == ""
    made.add(connection("ONE"))
    assert full(made) == "ONE"
    assert full(made, 2) == ""
    made.remove(first)
    assert full(made) == ""


def test_a_node_is_full() -> None:
    """The listener of brokers is not, but the limit is its own, too."""
    _, made = counts(**{MOST: "2"})
    made.add(connection("ONE"))
    made.add(connection("OTHER"))
    assert full(made) == "ONE OTHER"
    made.add(connection("PLAINTEXT"))
    made.add(connection("PLAINTEXT"))
    assert full(made) == "PLAINTEXT ONE OTHER"
    assert full(made, 2) == ""


def test_a_change_counts_at_once() -> None:
    config, made = counts()
    made.add(connection("ONE"))
    assert full(made) == ""
    config.set_dynamic(1, {f"listener.name.one.{MOST}": "1"})
    assert full(made) == "ONE"
    config.set_dynamic(1, {})
    config.set_dynamic(None, {MOST: "1"})
    assert full(made) == "ONE OTHER"


def test_the_longest_silent_go() -> None:
    config, made = counts()
    opened = [connection("ONE", 3), connection("OTHER", 1), connection("ONE", 2)]
    peer, elsewhere = connection("PLAINTEXT", 0), connection("ONE", 0, node_id=2)
    for each in (*opened, peer, elsewhere):
        made.add(each)
    everyone = [*opened, peer, elsewhere]
    assert made.too_many(everyone, 9) == []
    config.set_dynamic(1, {MOST: "2"})
    assert made.too_many(everyone, 9) == [opened[1], opened[2]]
    assert made.too_many(everyone, 1) == [opened[1]]
    # That of the brokers' listener never has to.
    config.set_dynamic(1, {MOST: "1"})
    assert peer not in made.too_many(everyone, 9)


def test_addresses_are_counted_and_forgotten() -> None:
    _, made = counts()
    one = connection("ONE")
    made.add(one)
    made.add(connection("OTHER"))
    assert (made.of_host("10.0.0.1", 1), made.of_host("10.0.0.1", 2)) == (2, 0)
    made.remove(one)
    assert (made.of_host("10.0.0.1", 1), len(made)) == (1, 1)


def test_single_addresses_have_their_own_limit() -> None:
    limits = {"max.connections.per.ip": "7", OVERRIDES: "10.0.0.1:1,::1:2,localhost:3,10.0.0.1:4"}
    config, made = counts(**limits)
    hosts = ("10.0.0.1", host_text("::1"), "127.0.0.1", "10.0.0.2")
    assert [made.most_from(host, 1) for host in hosts] == [4, 2, 3, 7]
    config.set_dynamic(1, {OVERRIDES: "10.0.0.2:9"})
    assert [made.most_from(host, 1) for host in hosts] == [7, 7, 7, 9]


def test_a_host_without_an_address_is_no_start() -> None:
    with pytest.raises(ConfigError, match=rf"^{OVERRIDES}: nowhere\.invalid has no address$"):
        counts(**{OVERRIDES: "nowhere.invalid:1"})


async def test_hosts_that_are_named_later(caplog: pytest.LogCaptureFixture) -> None:
    config, made = counts()
    config.set_dynamic(1, {OVERRIDES: "localhost:3,nowhere.invalid:1"})
    assert made.unknown_hosts() == {"localhost", "nowhere.invalid"}
    with caplog.at_level(logging.ERROR):
        await made.look_up(made.unknown_hosts())
    assert made.most_from("127.0.0.1", 1) == 3
    assert made.unknown_hosts() == set()
    assert caplog.messages == [f"{OVERRIDES}: nowhere.invalid has no address"]
