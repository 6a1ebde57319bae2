"""A wrong or missing config of a cluster is one sentence."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.quorum import PeerListener, is_broker_only, quorum_config
from kafkalite.peers.link import Address

WHOLE = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "a:1,b:2",
}


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in WHOLE.items() if key != name}


def test_all_of_it() -> None:
    config = quorum_config(BrokerConfig(WHOLE))
    assert list(config.addresses) == [Address("a", 1), Address("b", 2)]
    assert config.controllers == PeerListener("CONTROLLER", "PLAINTEXT", "GSSAPI")
    assert config.brokers == PeerListener("PLAINTEXT", "PLAINTEXT", "GSSAPI")


def test_brokers_and_controllers_are_reached_as_their_listeners_ask() -> None:
    secured = {
        "listeners": "CLIENTS://:9092,BETWEEN://:9094",
        "listener.security.protocol.map": "CONTROLLER:SSL,CLIENTS:PLAINTEXT,BETWEEN:SASL_SSL",
        "inter.broker.listener.name": "between",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.mechanism.controller.protocol": "PLAIN",
    }
    config = quorum_config(BrokerConfig(WHOLE | secured))
    assert config.controllers == PeerListener("CONTROLLER", "SSL", "PLAIN")
    assert config.brokers == PeerListener("BETWEEN", "SASL_SSL", "SCRAM-SHA-512")


def test_voters_do_as_well() -> None:
    voters = {"controller.quorum.voters": "3000@a:1,3001@[::1]:2"}
    config = quorum_config(BrokerConfig(without("controller.quorum.bootstrap.servers") | voters))
    assert list(config.addresses) == [Address("a", 1), Address("::1", 2)]


@pytest.mark.parametrize("name", sorted(WHOLE.keys() - {"process.roles"}))
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*not set"):
        quorum_config(BrokerConfig(without(name)))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"controller.quorum.bootstrap.servers": "nowhere"}, "'nowhere' is not host:port"),
        ({"controller.quorum.bootstrap.servers": "a:99999"}, "is not host:port"),
        ({"inter.broker.listener.name": "OTHER"}, "OTHER is not one of listeners"),
        ({"security.inter.broker.protocol": "SSL"}, "no listener speaks SSL"),
        ({"kafkalite.nodes": "2"}, "one node"),
        ({"kafkalite.scram.credentials": "a:b"}, "the controllers keep them"),
    ],
)
def test_what_is_wrong_is_said(changed: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        quorum_config(BrokerConfig(WHOLE | changed))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, False),
        ({"process.roles": "broker,controller"}, False),
        ({"process.roles": "broker,controller", "controller.quorum.voters": "1@a:1"}, False),
        ({"process.roles": "broker"}, True),
    ],
)
def test_one_process_stays_one_process(properties: dict[str, str], expected: bool) -> None:
    assert is_broker_only(BrokerConfig(properties)) is expected


@pytest.mark.parametrize(
    "properties",
    [
        {"process.roles": "controller"},
        {"process.roles": "broker,controller", "controller.quorum.voters": "1@a:1,2@b:1"},
    ],
)
def test_a_controller_is_to_be_had_elsewhere(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="apache/kafka"):
        is_broker_only(BrokerConfig(properties))
