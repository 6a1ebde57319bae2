"""The TLS of a listener, from its `ssl.*` configs; made anew when they or its files change.

Source: Kafka's DefaultSslEngineFactory and SslFactory (KIP-226, KIP-651).
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kafkalite.config import ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security import pkcs12
from kafkalite.security.key_stores import (
    PEM,
    KeyMaterial,
    StoreError,
    pem_certificates,
    pem_key_material,
    read_key_store,
    read_trust_store,
)
from kafkalite.security.pkcs12 import Unlock
from kafkalite.security.tls import (
    CLIENT_AUTH,
    TlsConfigError,
    TlsSettings,
    make_client_context,
    make_context,
)

# Java's own machinery; only the usual is to be had, which Python does the same.
_USUAL: Final = {
    "ssl.provider": (None,),
    "ssl.secure.random.implementation": (None,),
    "ssl.engine.factory.class": (
        None,
        "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    ),
    "ssl.keymanager.algorithm": ("SunX509", "PKIX", "NewSunX509"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509"),
    "ssl.protocol": ("TLSv1.3", "TLSv1.2", "TLS"),
}

_OF_KEYS: Final = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain")


@dataclass(frozen=True, slots=True)
class ListenerTls:
    """The context for a listener's connections, and its own certificate as PEM."""

    context: ssl.SSLContext
    certificate: str


def listener_tls(
    configs: ListenerConfigs, *, with_sasl: bool, unlock: Unlock = pkcs12.unlock
) -> ListenerTls:
    """The TLS of a listener. Raises ConfigError.

    With SASL clients show no certificate unless the listener itself asks for one, as in Kafka.
    """
    client_auth = configs.string("ssl.client.auth") or "none"
    if with_sasl:
        client_auth = str(configs.own("ssl.client.auth") or "none")
    assert client_auth in CLIENT_AUTH, client_auth
    if client_auth != "none":
        _need_cryptography("ssl.client.auth")
    try:
        keys = _keys(configs, unlock)
        settings = _settings(configs, keys, unlock, client_auth)
        return ListenerTls(make_context(settings), keys.certificates[0])
    except (StoreError, TlsConfigError) as error:
        raise ConfigError(str(error)) from None


def client_context(configs: ListenerConfigs) -> ssl.SSLContext:
    """The context for connections to other nodes' listener of that name. Raises ConfigError.

    A node shows its certificate there if it has one. `ssl.endpoint.identification.algorithm` of
    "" lets the certificate name any host.
    """
    algorithm = (configs.string("ssl.endpoint.identification.algorithm") or "").lower()
    if algorithm not in ("", "https"):
        raise ConfigError(
            f"config ssl.endpoint.identification.algorithm={algorithm}: it is https or empty"
        )
    has_keys = any(configs.string(name) is not None for name in _OF_KEYS)
    try:
        settings = _settings(
            configs, _keys(configs, pkcs12.unlock) if has_keys else None, pkcs12.unlock
        )
        return make_client_context(settings, checks_host=bool(algorithm))
    except (StoreError, TlsConfigError) as error:
        raise ConfigError(str(error)) from None


def _settings(
    configs: ListenerConfigs, keys: KeyMaterial | None, unlock: Unlock, client_auth: str = "none"
) -> TlsSettings:
    for name, usual in _USUAL.items():
        value = configs.string(name)
        if value not in usual:
            raise ConfigError(f"config {name}={value}: kafkalite does not have this")
    return TlsSettings(
        keys=keys,
        trusted=_trusted(configs, unlock),
        client_auth=client_auth,
        protocols=configs.items("ssl.enabled.protocols"),
        cipher_suites=configs.items("ssl.cipher.suites"),
    )


def _keys(configs: ListenerConfigs, unlock: Unlock) -> KeyMaterial:
    kind = configs.string("ssl.keystore.type") or ""
    location = configs.string("ssl.keystore.location")
    password = configs.string("ssl.keystore.password")
    key_password = configs.string("ssl.key.password")
    key = configs.string("ssl.keystore.key")
    chain = configs.string("ssl.keystore.certificate.chain")
    if key is not None:
        if kind != PEM:
            raise ConfigError(
                f"SSL private key can be specified only for PEM, but key store type is {kind}."
            )
        if chain is None:
            raise ConfigError(
                "SSL private key is specified, but certificate chain is not specified."
            )
        if location is not None:
            raise ConfigError("Both SSL key store location and separate private key are specified.")
        _no_password_with_pem(password)
        return pem_key_material(key, chain, key_password)
    if chain is not None:
        raise ConfigError("SSL certificate chain is specified, but private key is not specified")
    if location is None:
        if password is not None:
            raise ConfigError(
                "SSL key store is not specified, but key store password is specified."
            )
        raise ConfigError("ssl.keystore.location: a listener with TLS needs a key store")
    if kind == PEM:
        _no_password_with_pem(password)
    elif password is None:
        raise ConfigError("SSL key store is specified, but key store password is not specified.")
    _need_cryptography_for(kind, "ssl.keystore.type")
    return read_key_store(Path(location), kind, password, key_password, unlock)


def _no_password_with_pem(password: str | None) -> None:
    if password is not None:
        raise ConfigError(
            "SSL key store password cannot be specified with PEM format, only key password may be "
            "specified"
        )


def _trusted(configs: ListenerConfigs, unlock: Unlock) -> tuple[str, ...]:
    kind = configs.string("ssl.truststore.type") or ""
    location = configs.string("ssl.truststore.location")
    password = configs.string("ssl.truststore.password")
    certificates = configs.string("ssl.truststore.certificates")
    if certificates is not None:
        if kind != PEM:
            raise ConfigError(
                "SSL trust store certs can be specified only for PEM, but trust store type is "
                f"{kind}."
            )
        if location is not None:
            raise ConfigError(
                "Both SSL trust store location and separate trust certificates are specified."
            )
        if password is not None:
            raise ConfigError("SSL trust store password cannot be specified for PEM format.")
        return pem_certificates(certificates)
    if location is None:
        if password is not None:
            raise ConfigError(
                "SSL trust store is not specified, but trust store password is specified."
            )
        return ()
    if kind == PEM and password is not None:
        raise ConfigError("SSL trust store password cannot be specified for PEM format.")
    _need_cryptography_for(kind, "ssl.truststore.type")
    return read_trust_store(Path(location), kind, password, unlock)


def _need_cryptography_for(kind: str, name: str) -> None:
    if kind == "PKCS12":
        _need_cryptography(name)


def _need_cryptography(name: str) -> None:
    if find_spec("cryptography") is None:
        raise ConfigError(f"config {name} needs pip install kafkalite[security]")
