"""A CA and certificates for tests."""

from dataclasses import dataclass

import trustme
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate


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
