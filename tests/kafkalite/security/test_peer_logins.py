"""Logins at other nodes from `sasl.*` configs: what makes one, and what is refused."""

from __future__ import annotations

import base64
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
from kafkalite.security.peer_logins import login_of, patience, refresh_window
from kafkalite.security.sasl.client import SaslClient
from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.own_tokens import RefreshWindow
from kafkalite.security.sasl.token_endpoint import Patience
from tests.kafkalite.security.token_provider import Provider

LOGIN = 'username="node" password="secret"'
ENDPOINT = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def client(
    mechanism: str, own: Mapping[str, str], jaas_file: Mapping[str, JaasEntry] | None = None
) -> SaslClient:
    return login_of(mechanism, configs(mechanism, own), jaas_file or {})()


def configs(mechanism: str, own: Mapping[str, str]) -> ListenerConfigs:
    """The configs of a listener and mechanism."""
    prefix = f"listener.name.internal.{mechanism.lower()}."
    config = BrokerConfig(
        {
            "listeners": "INTERNAL://:0",
            "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT",
            **{f"{prefix}{name}": value for name, value in own.items()},
        }
    )
    return ListenerConfigs(config, "INTERNAL", 1)


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


def test_a_token_of_an_identity_provider(provider: Provider) -> None:
    made = client(
        "OAUTHBEARER",
        {
            **OF_ENDPOINT,
            "sasl.oauthbearer.token.endpoint.url": provider.url,
            "sasl.oauthbearer.client.credentials.client.id": "node",
            "sasl.oauthbearer.client.credentials.client.secret": "se:cret",
            "sasl.oauthbearer.scope": "brokers",
        },
    )
    assert made.first().startswith(b"n,,\x01auth=Bearer 1.")
    login = base64.b64encode(b"node:se:cret").decode()
    assert provider.asked == [
        (f"Basic {login}", "grant_type=client_credentials&scope=brokers"),
    ]


OF_ENDPOINT = {
    "sasl.jaas.config": f"{OAUTHBEARER_MODULE} required;",
    "sasl.login.callback.handler.class": ENDPOINT,
}
AT_PROVIDER = OF_ENDPOINT | {
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
    "sasl.oauthbearer.client.credentials.client.id": "node",
    "sasl.oauthbearer.client.credentials.client.secret": "secret",
}


def test_the_pace_of_logins() -> None:
    paces = {
        "sasl.login.connect.timeout.ms": "0",
        "sasl.login.read.timeout.ms": "2000",
        "sasl.login.retry.backoff.ms": "1500",
        "sasl.login.retry.backoff.max.ms": "7000",
        "sasl.login.refresh.window.factor": "0.5",
        "sasl.login.refresh.window.jitter": "0.25",
        "sasl.login.refresh.min.period.seconds": "3",
        "sasl.login.refresh.buffer.seconds": "4",
    }
    found = configs("OAUTHBEARER", paces)
    asked = patience(found)
    assert (asked.read, asked.first_wait, asked.longest) == (2, 1.5, 7)
    assert asked.connect > 86400  # for ever
    assert refresh_window(found) == RefreshWindow(0.5, 0.25, 3, 4)
    unset = configs("OAUTHBEARER", {})
    assert patience(unset) == Patience()
    assert refresh_window(unset) == RefreshWindow()


def test_the_pace_counts(provider: Provider) -> None:
    """An error is final without a wait, and a token of 1970 is renewed at once."""
    own = AT_PROVIDER | {
        "sasl.oauthbearer.token.endpoint.url": provider.url,
        "sasl.login.retry.backoff.ms": "0",
    }
    provider.statuses = [500]
    made = login_of("OAUTHBEARER", configs("OAUTHBEARER", own), {})
    with pytest.raises(SaslFailure, match="HTTP status 500"):
        made().first()
    assert made().first() != made().first()


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
        ("OAUTHBEARER", AT_PROVIDER | {"sasl.login.read.timeout.ms": "-1"}, "it is negative"),
        (
            "OAUTHBEARER",
            AT_PROVIDER | {"sasl.login.retry.backoff.max.ms": "99"},
            "is less than sasl.login.retry.backoff.ms",
        ),
    ],
)
def test_what_makes_no_login(mechanism: str, own: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        client(mechanism, own)
