"""Listeners and advertised listeners of each node."""

from __future__ import annotations

from kafkalite.config import (
    BrokerConfig,
)


def test_listeners_follow_the_advertised_ones_as_in_the_image() -> None:
    config = BrokerConfig.from_sources(
        environment={"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:29092", "CLUSTER_ID": "abc"}
    )
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://0.0.0.0:29092"]
    assert [str(listener) for listener in config.advertised_listeners()] == [
        "PLAINTEXT://kafka:29092"
    ]
    assert config.string("kafkalite.cluster.id") == "abc"


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
