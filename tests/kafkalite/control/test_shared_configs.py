"""Clusters made beside another one have its configs, but not its place in the world."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.control.shared_configs import shared_configs


@pytest.mark.parametrize(
    ("listeners", "beside"),
    [
        ("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://127.0.0.1:0"),
        ("PLAINTEXT://[::1]:9092", "PLAINTEXT://[::1]:0"),
    ],
)
def test_addresses_and_places_are_left_out(listeners: str, beside: str) -> None:
    config = BrokerConfig(
        {
            "listeners": listeners,
            "log.dirs": "/data",
            "kafkalite.nodes": "3",
            "kafkalite.control.token": "secret",
            "num.partitions": "7",
        }
    )
    assert shared_configs(config) == {"listeners": beside, "num.partitions": "7"}
    at_port = {"listeners": beside.replace(":0", ":9100"), "num.partitions": "7"}
    assert shared_configs(config, 9100) == at_port


def test_clients_are_told_of_the_host_that_is_advertised() -> None:
    """A broker in a container listens everywhere, and is called by another name."""
    told = {
        "listeners": "PLAINTEXT://0.0.0.0:9092",
        "advertised.listeners": "PLAINTEXT://localhost:19092",
        "kafkalite.clusters.ports": "9100-9199",
        "kafkalite.clusters.max": "5",
    }
    assert shared_configs(BrokerConfig(told), 9100) == {
        "listeners": "PLAINTEXT://0.0.0.0:9100",
        "advertised.listeners": "PLAINTEXT://localhost:0",
    }
