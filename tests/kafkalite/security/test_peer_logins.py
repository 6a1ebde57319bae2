"""Logins at other nodes from `sasl.*` configs: what makes one, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.jaas import (
    OAUTHBEARER_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    JaasEntry,
)
from kafkalite.security.peer_logins import login_of
from kafkalite.security.sasl.client import SaslClient

LOGIN = 'username="node" password="secret"'
ENDPOINT = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def client(
    mechanism: str, own: Mapping[str, str], jaas_file: Mapping[str, JaasEntry] | None = None
) -> SaslClient:
    """With configs of the listener and mechanism."""
    prefix = f"listener.name.internal.{mechanism.lower()}."
    config = BrokerConfig(
        {
            "listeners": "INTERNAL://:0",
            "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT",
            **{f"{prefix}{name}": value for name, value in own.items()},
        }
    )
    return login_of(mechanism, ListenerConfigs(config, "INTERNAL", 1), jaas_file or {})()


@pytest.mark.parametrize(
    ("mechanism", "line", "begin"),
    [
        ("PLAIN", f"{PLAIN_MODULE} required {LOGIN};", b"\0node\0secret"),
        ("SCRAM-SHA-256", f"{SCRAM_MODULE} required {LOGIN};", b"n,,n=node,r="),
        ("SCRAM-SHA-512", f"{SCRAM_MODULE} required {LOGIN};", b"n,,n=node,r="),
        (
            "OAUTHBEARER",
            f'{OAUTHBEARER_MODULE} required unsecuredLoginStringClaim_sub="node";',
            b"n,,\x01auth=Bearer ",
        ),
    ],
)
def test_each_mechanism(mechanism: str, line: str, begin: bytes) -> None:
    made = client(mechanism, {"sasl.jaas.config": line})
    assert made.mechanism == mechanism
    assert made.first().startswith(begin)


def test_a_jaas_file_has_the_login_as_well() -> None:
    entry = JaasEntry(PLAIN_MODULE, {"username": "node", "password": "secret"})
    assert client("PLAIN", {}, {PLAIN_MODULE: entry}).first() == b"\0node\0secret"


def test_a_token_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a.b.c")
    made = client(
        "OAUTHBEARER",
        {
            "sasl.jaas.config": f"{OAUTHBEARER_MODULE} required;",
            "sasl.login.callback.handler.class": ENDPOINT,
            "sasl.oauthbearer.token.endpoint.url": f"file://{file}",
        },
    )
    assert made.first() == b"n,,\x01auth=Bearer a.b.c\x01\x01"


OF_ENDPOINT = {
    "sasl.jaas.config": f"{OAUTHBEARER_MODULE} required;",
    "sasl.login.callback.handler.class": ENDPOINT,
}


@pytest.mark.parametrize(
    ("mechanism", "own", "sentence"),
    [
        ("GSSAPI", {}, "Kerberos is not served here"),
        ("OTHER", {}, "it is not known"),
        ("PLAIN", {}, "the login is not known; set listener.name.<listener>.plain.sasl.jaas"),
        ("PLAIN", {"sasl.jaas.config": f"{PLAIN_MODULE} required;"}, "no username and password"),
        ("PLAIN", {"sasl.jaas.config": f"{SCRAM_MODULE} required;"}, "the login module is"),
        ("OAUTHBEARER", {"sasl.jaas.config": f"{OAUTHBEARER_MODULE} required;"}, "Claim_sub"),
        (
            "OAUTHBEARER",
            OF_ENDPOINT | {"sasl.login.callback.handler.class": "my.Handler"},
            "runs no Java classes",
        ),
        ("OAUTHBEARER", OF_ENDPOINT, "needs a URL"),
        (
            "OAUTHBEARER",
            OF_ENDPOINT | {"sasl.oauthbearer.token.endpoint.url": "ftp://a/b"},
            "needs a URL",
        ),
        (
            "OAUTHBEARER",
            OF_ENDPOINT | {"sasl.oauthbearer.token.endpoint.url": "https://a/b"},
            "are not set",
        ),
    ],
)
def test_what_makes_no_login(mechanism: str, own: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        client(mechanism, own)
