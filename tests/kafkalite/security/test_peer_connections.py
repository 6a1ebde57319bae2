"""Connections to a broker's secured listener, as another node makes them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest
import trio

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.quorum import PeerListener
from kafkalite.peers.link import Address, Link, PeerGone
from kafkalite.security.jaas import PLAIN_MODULE
from kafkalite.security.peer_connections import peer_connect
from kafkalite.testing import broker
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.security.certificates import Authority

SECONDS = 60
AUTHORITY, STRANGERS = Authority(), Authority()
SERVER, ELSEWHERE = AUTHORITY.server(), AUTHORITY.server("elsewhere.example")
TRUST = {
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": AUTHORITY.certificate,
}
KEYS = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": SERVER.key,
    "ssl.keystore.certificate.chain": SERVER.certificate,
}
USERS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.between.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_node="s";',
    "connection.failed.authentication.delay.ms": "10",
}
LOGIN = {
    "listener.name.between.plain.sasl.jaas.config": (
        f'{PLAIN_MODULE} required username="node" password="s";'
    )
}


def config_of(protocol: str, configs: Mapping[str, str]) -> BrokerConfig:
    """A node's, whose own listener has the same name."""
    listener = {
        "listeners": "BETWEEN://127.0.0.1:0",
        "listener.security.protocol.map": f"BETWEEN:{protocol}",
    }
    return BrokerConfig(listener | dict(configs))


def serving(protocol: str, configs: Mapping[str, str]) -> broker:
    return broker(
        {
            "listeners": "BETWEEN://127.0.0.1:0",
            "listener.security.protocol.map": f"BETWEEN:{protocol}",
            **configs,
        }
    )


def address(running: broker) -> Address:
    host, _, port = running.bootstrap.rpartition(":")
    return Address(host, int(port))


async def ask(
    running: broker, protocol: str, configs: Mapping[str, str], mechanism: str = "PLAIN"
) -> int:
    """The number of nodes that it tells of. Raises PeerGone."""
    config = config_of(protocol, configs)
    connect = peer_connect(config, PeerListener("BETWEEN", protocol, mechanism))
    link = Link("me", connect)
    try:
        answer = await link.ask(address(running), MetadataRequest(), timeout_seconds=SECONDS)
        return len(answer.brokers)
    finally:
        await link.close()


@pytest.mark.parametrize(
    ("protocol", "theirs", "ours"),
    [
        ("PLAINTEXT", {}, {}),
        ("SSL", KEYS, TRUST),
        ("SSL", KEYS | TRUST | {"ssl.client.auth": "required"}, KEYS | TRUST),
        ("SASL_PLAINTEXT", USERS, LOGIN),
        ("SASL_SSL", USERS | KEYS, LOGIN | TRUST),
    ],
)
async def test_every_protocol(
    protocol: str, theirs: Mapping[str, str], ours: Mapping[str, str]
) -> None:
    async with serving(protocol, theirs) as running:
        assert await ask(running, protocol, ours) == 1


WRONG_HOST = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": ELSEWHERE.key,
    "ssl.keystore.certificate.chain": ELSEWHERE.certificate,
}


@pytest.mark.parametrize(
    ("protocol", "theirs", "ours", "reason"),
    [
        (
            "SSL",
            KEYS,
            TRUST | {"ssl.truststore.certificates": STRANGERS.certificate},
            "no TLS.*verify failed",
        ),
        ("SSL", WRONG_HOST, TRUST, "no TLS.*IP address mismatch"),
        (
            "SASL_PLAINTEXT",
            USERS | {"listener.name.between.plain.sasl.jaas.config": f"{PLAIN_MODULE} required;"},
            LOGIN,
            "not logged in: Authentication failed: Invalid username or password",
        ),
    ],
)
async def test_a_node_that_is_not_to_be_trusted_or_does_not_trust(
    protocol: str, theirs: Mapping[str, str], ours: Mapping[str, str], reason: str
) -> None:
    async with serving(protocol, theirs) as running:
        with pytest.raises(PeerGone, match=reason):
            await ask(running, protocol, ours)


async def test_a_certificate_may_name_another_host_if_told_so() -> None:
    async with serving("SSL", WRONG_HOST) as running:
        algorithm = {"listener.name.between.ssl.endpoint.identification.algorithm": ""}
        assert await ask(running, "SSL", TRUST | algorithm) == 1


async def test_a_mechanism_that_is_not_offered() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    line = f'{module} required username="node" password="s";'
    ours = {"listener.name.between.scram-sha-256.sasl.jaas.config": line}
    async with serving("SASL_PLAINTEXT", USERS) as running:
        with pytest.raises(PeerGone, match="SCRAM-SHA-256 is not among its mechanisms, PLAIN"):
            await ask(running, "SASL_PLAINTEXT", ours, "SCRAM-SHA-256")


@pytest.mark.parametrize("session_ms", [0, 3_600_000])
async def test_a_session_is_used_until_shortly_before_its_end(session_ms: int) -> None:
    theirs = USERS | {"connections.max.reauth.ms": str(session_ms)}
    config = config_of("SASL_PLAINTEXT", LOGIN)
    connect = peer_connect(config, PeerListener("BETWEEN", "SASL_PLAINTEXT", "PLAIN"))
    async with serving("SASL_PLAINTEXT", theirs) as running:
        before = trio.current_time()
        connection = await connect(address(running))
        await connection.stream.aclose()
        lasting = connection.usable_until - before
        if session_ms:
            assert 0.85 * 3600 <= lasting < 3600
        else:
            assert lasting == inf


async def test_new_stores_are_used_by_the_next_connection() -> None:
    config = config_of("SSL", TRUST | {"ssl.truststore.certificates": STRANGERS.certificate})
    link = Link("me", peer_connect(config, PeerListener("BETWEEN", "SSL", "")))
    async with serving("SSL", KEYS) as running:
        with pytest.raises(PeerGone, match="no TLS"):
            await link.ask(address(running), MetadataRequest(), timeout_seconds=SECONDS)
        config.dynamic_by_node[config.node_id] = TRUST
        answer = await link.ask(address(running), MetadataRequest(), timeout_seconds=SECONDS)
        assert len(answer.brokers) == 1
        config.dynamic_by_node[config.node_id] = {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": "none",
        }
        await link.close()
        with pytest.raises(PeerGone, match="listener BETWEEN: at least one certificate"):
            await link.ask(address(running), MetadataRequest(), timeout_seconds=SECONDS)


@pytest.mark.parametrize(
    ("protocol", "configs", "sentence"),
    [
        ("SSL", {"ssl.truststore.location": "/none"}, "listener BETWEEN: cannot read /none"),
        ("SSL", {"ssl.endpoint.identification.algorithm": "LDAP"}, "it is https or empty"),
        ("SSL", {"ssl.keystore.location": "/none"}, "listener BETWEEN: SSL key store is spec"),
        ("SASL_PLAINTEXT", {}, "listener BETWEEN: sasl mechanism PLAIN: the login is not known"),
    ],
)
def test_what_makes_no_connection_is_said_at_the_start(
    protocol: str, configs: Mapping[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        peer_connect(config_of(protocol, configs), PeerListener("BETWEEN", protocol, "PLAIN"))
