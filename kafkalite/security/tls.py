"""TLS of a listener and to it: the SSLContexts that its configs ask for; names in certificates.

Source: Kafka's DefaultSslEngineFactory, SslConfigs and BrokerSecurityConfigs.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kafkalite.security.key_stores import KeyMaterial, StoreError

PROTOCOLS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_TLS_1_3_SUITES: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}
)

# Python's own ones, and what Java offers, too: SHA-1 in TLS 1.2, and the key exchange of RSA last.
_USUAL_SUITES: Final = (
    "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDH+AES:DHE+AES:kRSA+AESGCM"
    ":kRSA+AES:!aNULL:!eNULL:!aDSS:!AESCCM"
)
# OpenSSL's level 2 does not serve such a chain; Java does.
_WEAK: Final = frozenset({"CA_MD_TOO_WEAK", "CA_KEY_TOO_SMALL", "EE_KEY_TOO_SMALL"})
# The group of DHE that Java's server chooses (RFC 7919, appendix A.1).
_DHE_GROUP: Final = Path(__file__).with_name("ffdhe2048.pem")


class TlsConfigError(Exception):
    """TLS cannot be set up as asked; one sentence."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The keys and demands of a listener's `ssl.*` configs. Only clients can do without keys."""

    keys: KeyMaterial | None
    trusted: Sequence[str] = ()
    client_auth: str = "none"
    protocols: Sequence[str] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: Sequence[str] = field(default=())


def make_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context for a listener's connections. Raises TlsConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Renegotiation costs a server more than a client, and Java offers none of its own, either.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_ciphers(_USUAL_SUITES)
    context.load_dh_params(str(_DHE_GROUP))
    _set_up(context, settings)
    context.verify_mode = CLIENT_AUTH[settings.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, settings.trusted, ssl.Purpose.CLIENT_AUTH)
    return context


def make_client_context(settings: TlsSettings, *, checks_host: bool) -> ssl.SSLContext:
    """The context for connections to another node's listener. Raises TlsConfigError.

    `checks_host`: its certificate must name the host that was connected to.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_host
    _set_up(context, settings)
    _trust(context, settings.trusted, ssl.Purpose.SERVER_AUTH)
    return context


def _set_up(context: ssl.SSLContext, settings: TlsSettings) -> None:
    _set_protocols(context, settings.protocols)
    if settings.cipher_suites:
        _set_ciphers(context, settings.cipher_suites)
    if settings.keys is not None:
        _load_keys(context, settings.keys)


def _trust(context: ssl.SSLContext, trusted: Sequence[str], purpose: ssl.Purpose) -> None:
    if not trusted:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(cadata="\n".join(trusted))
    except (ssl.SSLError, ValueError) as error:
        raise TlsConfigError(f"the trusted certificates cannot be read: {error}") from None


def _set_protocols(context: ssl.SSLContext, protocols: Sequence[str]) -> None:
    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown or not protocols:
        raise TlsConfigError(
            f"ssl.enabled.protocols={','.join(protocols)}: it may be {' and '.join(PROTOCOLS)}"
        )
    versions = [PROTOCOLS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _set_ciphers(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    """Java's names of suites. TLS 1.3 has its own ones; without any of them it is not offered."""
    modern = [suite for suite in suites if suite in _TLS_1_3_SUITES]
    older = [openssl_name(suite) for suite in suites if suite not in _TLS_1_3_SUITES]
    if not modern:
        context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2)
    elif frozenset(modern) != _TLS_1_3_SUITES:
        raise TlsConfigError(
            "ssl.cipher.suites: Python cannot choose among the suites of TLS 1.3; name all of "
            + ", ".join(sorted(_TLS_1_3_SUITES))
            + ", or none of them"
        )
    if not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    else:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise TlsConfigError(
                f"ssl.cipher.suites: none of {', '.join(suites)} is known here"
            ) from None
        known = {cipher["name"] for cipher in context.get_ciphers()}
        missing = [
            suite
            for suite in suites
            if suite not in _TLS_1_3_SUITES and openssl_name(suite) not in known
        ]
        if missing:
            raise TlsConfigError(f"ssl.cipher.suites: {missing[0]} is not known here")
    if context.minimum_version > context.maximum_version:
        raise TlsConfigError("ssl.cipher.suites: none of them belongs to ssl.enabled.protocols")


def openssl_name(suite: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 as OpenSSL calls it."""
    name = suite.removeprefix("TLS_").removeprefix("SSL_")
    exchange, _, cipher = name.partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_CBC", "")
    exchange = "" if exchange == "RSA" else f"{exchange}_"
    return f"{exchange}{cipher}".replace("_", "-")


def _load_keys(context: ssl.SSLContext, keys: KeyMaterial) -> None:
    try:
        with ExitStack() as stack:
            # The key is never in a file with a name.
            chain = stack.enter_context(_in_memory("\n".join(keys.certificates)))
            key = stack.enter_context(_in_memory(keys.key))
            # A callable, so that OpenSSL never asks at the terminal.
            password = keys.key_password or ""
            try:
                context.load_cert_chain(chain, key, lambda: password)
            except ssl.SSLError as error:
                if error.reason not in _WEAK:
                    raise
                _allow_weak(context)
                context.load_cert_chain(chain, key, lambda: password)
    except ssl.SSLError as error:
        reason = error.reason or "it cannot be read"
        raise TlsConfigError(
            f"the private key or its certificate is not usable: {reason}"
        ) from None
    except (ValueError, OSError) as error:
        raise TlsConfigError(f"the private key is not usable: {error}") from None


def _allow_weak(context: ssl.SSLContext) -> None:
    """Let certificates be as weak as they are: signed with SHA-1, or with short keys of RSA.

    A context has one level for both sides: those of the other side may be weak, too. The suites
    stay the same.
    """
    suites = (cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3")
    context.set_ciphers("@SECLEVEL=0:" + ":".join(suites))


@contextmanager
def _in_memory(text: str) -> Generator[str]:
    """A path under which a text can be read, for as long as the context."""
    descriptor = os.memfd_create("kafkalite")
    try:
        os.write(descriptor, text.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


# Java's names of attributes in RFC 2253; all others are written by their numbers.
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# The types of ASN.1 that are texts to Java: UTF8, Printable, T61, IA5, General and BMPString.
_BMP_STRING: Final = 0x1E
_TEXTS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, _BMP_STRING})
_ESCAPED: Final = frozenset(',=+<>#;"\\')


def distinguished_name(certificate: bytes) -> str:
    """The subject of a DER certificate as Java's X500Principal.getName writes it (RFC 2253).

    Raises StoreError for a certificate that cannot be read.
    """
    from cryptography import x509

    try:
        subject = x509.load_der_x509_certificate(certificate).subject
    except (ValueError, x509.InvalidVersion) as error:
        raise StoreError(f"a certificate cannot be read: {error}") from None
    return ",".join(
        "+".join(_attribute(attribute) for attribute in rdn) for rdn in reversed(subject.rdns)
    )


def _attribute(attribute: object) -> str:
    from cryptography import x509

    known: Any = attribute
    number: str = known.oid.dotted_string
    value: str | bytes = known.value
    keyword = _KEYWORDS.get(number)
    der = _value_der(x509.Name([known]).public_bytes())
    if keyword is None or isinstance(value, bytes) or der[0] not in _TEXTS:
        return f"{keyword or number}=#{der.hex()}"
    if der[0] == _BMP_STRING:  # Java takes it for UTF-8
        value = der[_header_size(der) :].decode(errors="replace")
    return f"{keyword}={_escaped(value)}"


def _value_der(name: bytes) -> bytes:
    """The value inside the DER of a name with one attribute: SEQUENCE SET SEQUENCE OID value."""
    data = name
    for _ in range(3):
        data = data[_header_size(data) :]
    return data[_header_size(data) + data[1] :]


def _header_size(data: bytes) -> int:
    return 2 + (data[1] & 0x7F if data[1] & 0x80 else 0)


def _escaped(value: str) -> str:
    text = "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
    text = text.replace("\0", "\\00")
    leading = len(text) - len(text.lstrip(" "))
    trailing = len(text) - len(text.rstrip(" ")) if leading < len(text) else 0
    middle = text[leading : len(text) - trailing]
    return "\\ " * leading + middle + "\\ " * trailing
