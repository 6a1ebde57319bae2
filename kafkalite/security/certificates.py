"""A CA made on the spot, and certificates for a broker and a client: for tests, never for real."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

CLIENT_NAME: Final = "client"
# Long enough for a test, short enough that no one comes to rely on it.
_LIFETIME: Final = timedelta(days=30)
# Clocks of containers differ.
_EARLIER: Final = timedelta(days=1)


class PemFiles(Protocol):
    """The paths of the three files."""

    @property
    def ca(self) -> Path: ...
    @property
    def server(self) -> Path: ...
    @property
    def client(self) -> Path: ...


class Authority:
    """A CA whose key is in this process' memory only."""

    def __init__(self) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec

        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([_common_name("kafkalite CA")])
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
        )
        self._certificate = self._signed(builder)

    @property
    def certificate(self) -> str:
        """The CA's own certificate as PEM."""
        return _pem(self._certificate)

    def issue(self, name: str, hosts: Sequence[str] = ()) -> str:
        """A private key and its certificate as PEM, for these hosts."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(x509.Name([_common_name(name)]), self._name, key.public_key())
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return pem + _pem(self._signed(builder))

    def _signed(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        from cryptography.hazmat.primitives.hashes import SHA256

        return builder.sign(self._key, SHA256())


def _common_name(name: str) -> x509.NameAttribute[str]:
    from cryptography import x509

    return x509.NameAttribute(x509.NameOID.COMMON_NAME, name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """A key either signs certificates, or shows who its owner is.

    Without it strict clients do not trust the CA: Python's, from 3.13 on.
    """
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def write_certificates(directory: Path, files: PemFiles, host: str) -> None:
    """Make a CA, and certificates for a broker on this host and for a client. Raises OSError."""
    authority = Authority()
    hosts = dict.fromkeys(
        each
        for each in (host, "localhost", "127.0.0.1", "::1", socket.gethostname())
        if each and each not in ("0.0.0.0", "::")
    )
    directory.mkdir(parents=True, exist_ok=True)
    _write_secret(files.ca, authority.certificate)
    _write_secret(files.server, authority.issue("kafkalite", list(hosts)))
    _write_secret(files.client, authority.issue(CLIENT_NAME))


def _write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
