"""A CA and certificates for tests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Identity:
    """A private key and its certificate, as PEM."""

    key: str
    certificate: str

    def encrypted_key(self, password: str) -> str:
        """The key as PKCS8, encrypted."""
        key = load_pem_private_key(self.key.encode(), None)
        encryption = BestAvailableEncryption(password.encode())
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def pkcs12(self, password: str) -> bytes:
        """Both in one store."""
        key = load_pem_private_key(self.key.encode(), None)
        assert isinstance(key, EllipticCurvePrivateKey | RSAPrivateKey)
        return pkcs12.serialize_key_and_certificates(
            b"kafka",
            key,
            load_pem_x509_certificate(self.certificate.encode()),
            None,
            BestAvailableEncryption(password.encode()),
        )


class Authority:
    """A CA that certifies names."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.certificate = self._ca.cert_pem.bytes().decode()

    def server(self, *hosts: str, name: str = "server", is_rsa: bool = False) -> Identity:
        issued = self._ca.issue_cert(
            *(hosts or ("127.0.0.1",)),
            common_name=name,
            organization_unit_name="brokers",
            key_type=trustme.KeyType.RSA if is_rsa else trustme.KeyType.ECDSA,
        )
        return self._identity(issued)

    def client(self, name: str) -> Identity:
        issued = self._ca.issue_cert(common_name=name, organization_name="kafkalite")
        return self._identity(issued)

    def _identity(self, issued: trustme.LeafCert) -> Identity:
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Identity(pem.decode(), issued.cert_chain_pems[0].bytes().decode())


def small_identity() -> Identity:
    """A key of RSA that is too short for today, and its certificate."""
    own = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=own.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=1),
    )
    pem = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Identity(pem, builder.sign(own, SHA256()).public_bytes(Encoding.PEM).decode())


def sha1_identity() -> Identity:
    """A certificate signed with SHA-1, as old tools made them: `openssl x509 -req -sha1`."""
    text = Path(__file__).with_name("signed_with_sha1.pem").read_text()
    key, begin, certificate = text.partition("-----BEGIN CERTIFICATE-----")
    return Identity(key, begin + certificate)
