"""Listeners and advertised listeners of each node."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listeners import parse_listeners


def test_listeners_of_controllers_are_not_for_clients() -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://localhost:9092,EXTERNAL://[::1]:0,CONTROLLER://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,external:PLAINTEXT",
        }
    )
    assert [(item.name, item.host, item.port) for item in config.listeners()] == [
        ("PLAINTEXT", "localhost", 9092),
        ("EXTERNAL", "::1", 0),
    ]


def test_each_further_node_takes_the_next_port() -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://h:9092", "kafkalite.nodes": "3"})
    ports = [config.listeners(node_id)[0].port for node_id in config.node_ids]
    assert ports == [9092, 9093, 9094]
    assert config.advertised_listeners(3)[0].port == 9094


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("A://:1", ""),
        ("A://h-1.b_c:1", "h-1.b_c"),
        ("A://[h]:1", "h"),
        ("A://[::1]:1", "::1"),
        ("A://::1:1", "::1"),
        ("A://[fe80::1%eth0]:1", "fe80::1%eth0"),
        ("a://h:65535", "h"),
    ],
)
def test_hosts_that_kafka_takes_are_taken(text: str, host: str) -> None:
    (listener,) = parse_listeners("listeners", [text], {"A": "PLAINTEXT"})
    assert (listener.name, listener.host) == ("A", host)


@pytest.mark.parametrize(
    "text",
    [
        *("A://h", "A://h:", "A://:", "h:1", "A:h:1", "A://h:-1", "A://h:65536", "A://h:1/"),
        # These come from templates that nobody filled in, quotes, and names with letters of their
        # own: clients would be told an address that they cannot have.
        *("A://${HOST}:1", "A://_{HOSTNAME_COMMAND}:1", "A://<host>:1", '"A://h:1"', "A://h h:1"),
        "A://bär:1",
    ],
)
def test_hosts_that_kafka_refuses_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^x: .* is not NAME://host:port$"):
        parse_listeners("x", [text], {"A": "PLAINTEXT", '"A': "PLAINTEXT"})
