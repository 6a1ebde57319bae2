"""`ssl.*` configs: what makes a context, and what is refused in Kafka's words."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.listener_tls import listener_tls
from tests.kafkalite.security.certificates import Authority

AUTHORITY = Authority()
SERVER = AUTHORITY.server()
PEM = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": SERVER.key,
    "ssl.keystore.certificate.chain": SERVER.certificate,
}
TRUST = {
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": AUTHORITY.certificate,
}


def context(configs: dict[str, str], *, with_sasl: bool = False) -> ssl.SSLContext:
    config = BrokerConfig({"listeners": "SSL://127.0.0.1:0", **configs})
    return listener_tls(ListenerConfigs(config, "SSL", 1), with_sasl=with_sasl).context


def test_a_key_in_the_configs() -> None:
    assert context(PEM).verify_mode is ssl.CERT_NONE


def test_a_key_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text(SERVER.key + SERVER.certificate)
    context({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)})
    path = tmp_path / "server.p12"
    path.write_bytes(SERVER.pkcs12("secret"))
    context(
        {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(path),
            "ssl.keystore.password": "secret",
        }
    )


def test_an_encrypted_key() -> None:
    encrypted = PEM | {"ssl.keystore.key": SERVER.encrypted_key("secret")}
    context(encrypted | {"ssl.key.password": "secret"})
    with pytest.raises(ConfigError, match="not usable"):
        context(encrypted)


@pytest.mark.parametrize(
    ("client_auth", "mode"),
    [
        ("none", ssl.CERT_NONE),
        ("requested", ssl.CERT_OPTIONAL),
        ("required", ssl.CERT_REQUIRED),
    ],
)
def test_certificates_of_clients(client_auth: str, mode: ssl.VerifyMode) -> None:
    configs = PEM | TRUST | {"ssl.client.auth": client_auth}
    assert context(configs).verify_mode is mode
    # With SASL a listener asks for one only if it says so itself.
    assert context(configs, with_sasl=True).verify_mode is ssl.CERT_NONE
    own = PEM | TRUST | {"listener.name.ssl.ssl.client.auth": client_auth}
    assert context(own, with_sasl=True).verify_mode is mode


def test_protocols_and_suites_are_the_listener_s() -> None:
    made = context(PEM | {"ssl.enabled.protocols": "TLSv1.3"})
    assert made.minimum_version is ssl.TLSVersion.TLSv1_3
    suite = {"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}
    names = {cipher["name"] for cipher in context(PEM | suite).get_ciphers()}
    assert "ECDHE-RSA-AES256-GCM-SHA384" in names
    assert "ECDHE-RSA-AES128-GCM-SHA256" not in names


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({}, "a listener with TLS needs a key store"),
        ({"ssl.keystore.password": "x"}, "key store is not specified, but key store password is"),
        (PEM | {"ssl.keystore.type": "JKS"}, "specified only for PEM, but key store type is JKS"),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": SERVER.key},
            "certificate chain is not specified",
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": SERVER.certificate},
            "private key is not specified",
        ),
        (PEM | {"ssl.keystore.location": "/x"}, "Both SSL key store location and separate private"),
        (PEM | {"ssl.keystore.password": "x"}, "cannot be specified with PEM format"),
        (
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "/x",
                "ssl.keystore.password": "x",
            },
            "cannot be specified with PEM format",
        ),
        (
            {"ssl.keystore.type": "JKS", "ssl.keystore.location": "/x"},
            "key store password is not specified",
        ),
        (
            PEM | TRUST | {"ssl.truststore.type": "JKS"},
            "only for PEM, but trust store type is JKS",
        ),
        (PEM | TRUST | {"ssl.truststore.location": "/x"}, "Both SSL trust store location and"),
        (
            PEM | TRUST | {"ssl.truststore.password": "x"},
            "trust store password cannot be specified for PEM",
        ),
        (
            PEM
            | {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/x",
                "ssl.truststore.password": "x",
            },
            "trust store password cannot be specified for PEM",
        ),
        (PEM | {"ssl.truststore.password": "x"}, "trust store is not specified, but"),
        (PEM | {"ssl.provider": "BC"}, "ssl.provider=BC: kafkalite does not have this"),
        (PEM | {"ssl.engine.factory.class": "org.example.X"}, "kafkalite does not have this"),
        (PEM | {"ssl.trustmanager.algorithm": "X"}, "kafkalite does not have this"),
        (PEM | {"ssl.keymanager.algorithm": "X"}, "kafkalite does not have this"),
        (
            PEM | {"ssl.secure.random.implementation": "NativePRNG"},
            "ssl.secure.random.implementation=NativePRNG: kafkalite does not have this",
        ),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/no/such"}, "/no/such"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(configs: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        context(configs)
