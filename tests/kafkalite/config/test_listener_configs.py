"""A listener's own config over the broker's, and a mechanism's over both (KIP-103)."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.listener_tls import client_context

REAUTH = "connections.max.reauth.ms"
LISTENERS = {
    "listeners": "INTERNAL://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
    "listener.security.protocol.map": "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}


def configs(name: str = "INTERNAL", node_id: int = 1, **texts: str) -> ListenerConfigs:
    """`texts` with two underscores for a dot."""
    own = {key.replace("__", "."): text for key, text in texts.items()}
    return ListenerConfigs(BrokerConfig({**LISTENERS, **own}), name, node_id)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, 0),
        ({REAUTH: "1"}, 1),
        ({REAUTH: "1", f"listener.name.internal.{REAUTH}": "2"}, 2),
        (
            {
                REAUTH: "1",
                f"listener.name.internal.{REAUTH}": "2",
                f"listener.name.internal.plain.{REAUTH}": "3",
            },
            3,
        ),
        ({f"listener.name.external.{REAUTH}": "9"}, 0),
        ({f"listener.name.internal.scram-sha-256.{REAUTH}": "9"}, 0),
    ],
    ids=["default", "broker", "listener", "mechanism", "another's", "another mechanism's"],
)
def test_the_most_specific_counts(texts: dict[str, str], expected: int) -> None:
    config = BrokerConfig({**LISTENERS, **texts})
    assert ListenerConfigs(config, "INTERNAL", 1).integer(REAUTH, "PLAIN") == expected


def test_what_is_set_for_the_listener_itself() -> None:
    own = configs(
        ssl__client__auth="required", listener__name__internal__ssl__client__auth="requested"
    )
    assert own.own("ssl.client.auth") == "requested"
    assert configs(ssl__client__auth="required").own("ssl.client.auth") is None
    assert configs("EXTERNAL", ssl__client__auth="required").own("ssl.client.auth") is None


def test_dynamic_configs_count_over_static_ones_and_a_node_s_over_all() -> None:
    name = f"listener.name.internal.{REAUTH}"
    config = BrokerConfig({**LISTENERS, name: "1"})
    config.dynamic_default = {name: "2"}
    config.dynamic_by_node = {1: {name: "3"}}
    assert ListenerConfigs(config, "INTERNAL", 1).integer(REAUTH) == 3
    assert ListenerConfigs(config, "INTERNAL", 2).integer(REAUTH) == 2


def test_values_by_their_type() -> None:
    made = configs(ssl__enabled__protocols="TLSv1.3, TLSv1.2", ssl__keystore__location="")
    assert made.items("ssl.enabled.protocols") == ("TLSv1.3", "TLSv1.2")
    assert made.items("ssl.cipher.suites") == ()
    assert made.string("ssl.keystore.location") is None
    assert made.string("ssl.protocol") == "TLSv1.3"


def test_protocols_of_tls() -> None:
    assert client_context(configs(ssl__protocol="TLSv1.2"))
    with pytest.raises(ConfigError, match=r"ssl\.protocol=SSLv3"):
        client_context(configs(ssl__protocol="SSLv3"))


def test_a_value_that_is_none() -> None:
    config = BrokerConfig(LISTENERS)
    config.dynamic_by_node = {1: {f"listener.name.internal.{REAUTH}": "soon"}}
    with pytest.raises(ConfigError):
        ListenerConfigs(config, "INTERNAL", 1).integer(REAUTH)
