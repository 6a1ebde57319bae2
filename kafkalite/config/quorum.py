"""The configs of a broker under controllers of their own, in Kafka's words.

    process.roles=broker
    node.id=1
    controller.quorum.bootstrap.servers=host:9093,...  or controller.quorum.voters=id@host:port,...
    controller.listener.names=CONTROLLER
    inter.broker.listener.name=PLAINTEXT    unset: that of security.inter.broker.protocol
    sasl.mechanism.inter.broker.protocol, sasl.mechanism.controller.protocol

A wrong or missing one is one sentence. Source: KafkaConfig, QuorumConfig.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkalite.config.definition import ConfigError
from kafkalite.config.listeners import parse_protocol_map
from kafkalite.peers.link import Address

if TYPE_CHECKING:
    from kafkalite.config.broker_config import BrokerConfig

_VOTER = re.compile(r"(?P<id>\d+)@(?P<host>.+):(?P<port>\d+)")
_SERVER = re.compile(r"(?P<host>.+):(?P<port>\d+)")
_LAST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class PeerListener:
    """A listener at which other nodes are reached: its security protocol and SASL mechanism."""

    listener: str
    security_protocol: str
    mechanism: str


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    """The controllers' addresses, and the listeners by which they and brokers are reached."""

    addresses: Sequence[Address]
    controllers: PeerListener
    brokers: PeerListener


def is_broker_only(config: BrokerConfig) -> bool:
    """True if process.roles asks for a broker under other controllers.

    Raises ConfigError.
    """
    roles = config.items("process.roles")
    if not config.is_given("process.roles") or not roles:
        return False
    is_one_process = "broker" in roles and len(config.items("controller.quorum.voters")) <= 1
    if "controller" in roles and not is_one_process:
        raise ConfigError(
            f"process.roles={','.join(roles)}: kafkalite is no controller of a quorum; take Apache "
            "Kafka's, for instance the container image apache/kafka with process.roles=controller"
        )
    return "controller" not in roles


def quorum_config(config: BrokerConfig) -> QuorumConfig:
    """Read and check it. Raises ConfigError."""
    if not config.is_given("node.id") and not config.is_given("broker.id"):
        raise ConfigError("node.id: process.roles=broker needs it, and it is not set")
    if len(config.node_ids) > 1:
        raise ConfigError("kafkalite.nodes: process.roles=broker is one node")
    if not config.is_given("controller.listener.names"):
        raise ConfigError(
            "controller.listener.names: process.roles=broker needs it, and it is not set"
        )
    controllers = _controllers(config)
    if not controllers:
        raise ConfigError(
            "controller.quorum.bootstrap.servers: process.roles=broker needs it (or "
            "controller.quorum.voters), and it is not set"
        )
    if config["kafkalite.scram.credentials"] is not None:
        raise ConfigError(
            "kafkalite.scram.credentials: with process.roles=broker the controllers keep them; "
            "kafka-configs --alter --add-config creates them"
        )
    return QuorumConfig(controllers, _controller_listener(config), _inter_broker_listener(config))


def _controller_listener(config: BrokerConfig) -> PeerListener:
    protocols = parse_protocol_map(config.string("listener.security.protocol.map") or "")
    name = config.items("controller.listener.names")[0].upper()
    mechanism = config.string("sasl.mechanism.controller.protocol") or ""
    return PeerListener(name, protocols.get(name, "PLAINTEXT"), mechanism)


def _controllers(config: BrokerConfig) -> list[Address]:
    found: list[Address] = []
    for name, form in (
        ("controller.quorum.bootstrap.servers", _SERVER),
        ("controller.quorum.voters", _VOTER),
    ):
        for item in config.items(name):
            match = form.fullmatch(item.strip())
            if match is None or not 0 < int(match["port"]) <= _LAST_PORT:
                wanted = "id@host:port" if form is _VOTER else "host:port"
                raise ConfigError(f"{name}: {item!r} is not {wanted}")
            found.append(Address(match["host"].strip("[]"), int(match["port"])))
        if found:
            break
    return found


def _inter_broker_listener(config: BrokerConfig) -> PeerListener:
    listeners = config.listeners()
    named = config.string("inter.broker.listener.name")
    mechanism = config.string("sasl.mechanism.inter.broker.protocol") or ""
    protocol = config.string("security.inter.broker.protocol")
    for each in listeners:
        if each.name == (named or "").upper() or (
            named is None and each.security_protocol == protocol
        ):
            return PeerListener(each.name, each.security_protocol, mechanism)
    if named is None:
        raise ConfigError(f"inter.broker.listener.name: no listener speaks {protocol}")
    raise ConfigError(f"inter.broker.listener.name: {named} is not one of listeners")
