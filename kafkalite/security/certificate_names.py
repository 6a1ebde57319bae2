"""A new certificate of a running listener has the names of the one before.

    ssl.allow.dn.changes     its subject may be another
    ssl.allow.san.changes    alternative names may be missing; more are always welcome

Source: Kafka's SslFactory.CertificateEntries.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from kafkalite.config import ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.key_stores import StoreError
from kafkalite.security.tls import distinguished_name

if TYPE_CHECKING:
    from cryptography import x509

# Numbers of X.509 for the kinds of names that a host has.
_DNS: Final = 2
_IP: Final = 7


def check_names(before: str, after: str, configs: ListenerConfigs) -> None:
    """Check the certificate that follows another, both as PEM. Raises ConfigError."""
    allows_dn = configs.value("ssl.allow.dn.changes")
    allows_san = configs.value("ssl.allow.san.changes")
    if before == after or (allows_dn and allows_san):
        return
    try:
        was, will_be = (ssl.PEM_cert_to_DER_cert(each) for each in (before, after))
        if not allows_dn:
            _check_subject(distinguished_name(was), distinguished_name(will_be))
        if not allows_san:
            _check_alternatives(_alternatives(was), _alternatives(will_be))
    except ModuleNotFoundError:
        raise ConfigError(
            "to compare the names of certificates needs pip install kafkalite[security]; or set "
            "ssl.allow.dn.changes and ssl.allow.san.changes"
        ) from None
    except StoreError as error:
        raise ConfigError(str(error)) from None


def _check_subject(was: str, will_be: str) -> None:
    # Letters count as small, and spaces once.
    if " ".join(was.lower().split()) != " ".join(will_be.lower().split()):
        raise ConfigError(
            "Keystore DistinguishedName does not match: "
            f" existing={{alias=kafka, DN={_spaced(was)}}}, "
            f"new={{alias=kafka, DN={_spaced(will_be)}}}"
        )


def _spaced(name: str) -> str:
    return name.replace(",", ", ")


def _check_alternatives(was: frozenset[str], will_be: frozenset[str]) -> None:
    if not was <= will_be:
        existing, new = (", ".join(sorted(each)) for each in (was, will_be))
        raise ConfigError(
            "Keystore SubjectAltNames do not match: "
            f" existing={{alias=kafka, SAN=[{existing}]}}, new={{alias=kafka, SAN=[{new}]}}"
        )


def _alternatives(certificate: bytes) -> frozenset[str]:
    """The alternative names of a DER certificate, as Java writes them."""
    from cryptography import x509

    try:
        found = x509.load_der_x509_certificate(certificate).extensions
        names = found.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    except (
        ValueError,
        x509.InvalidVersion,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
    ) as error:
        raise StoreError(f"a certificate's names cannot be read: {error}") from None
    return frozenset(map(_written, names))


def _written(name: x509.GeneralName) -> str:
    from cryptography import x509

    kind: object = type(name).__name__
    if isinstance(name, x509.DNSName):
        kind = _DNS
    elif isinstance(name, x509.IPAddress):
        kind = _IP
    return f"[{kind}, {name.value}]"
