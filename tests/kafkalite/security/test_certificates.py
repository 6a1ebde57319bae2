"""Certificates made on the spot: good for the hosts they name, and read by their owner only."""

from __future__ import annotations

import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from kafkalite.security.certificates import Authority, write_certificates
from kafkalite.security.key_stores import pem_certificates
from kafkalite.security.quick_start import files_in
from kafkalite.security.tls import distinguished_name


def handshake(server_pem: Path, ca: str, host: str) -> None:
    """A client that trusts the CA connects to `host`. Raises ssl.SSLError."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(server_pem)
    client = ssl.create_default_context(cadata=ca)
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # Python's default from 3.13 on
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert theirs.version() is not None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "broker.example"])
def test_the_server_s_is_good_for_its_hosts(tmp_path: Path, host: str) -> None:
    files = files_in(tmp_path)
    write_certificates(tmp_path, files, "broker.example")
    handshake(files.server, files.ca.read_text(), host)


def test_it_is_good_for_no_other_host_and_no_other_authority(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    write_certificates(tmp_path, files, "0.0.0.0")
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(files.server, files.ca.read_text(), "other.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        handshake(files.server, files.ca.read_text(), "0.0.0.0")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(files.server, Authority().certificate, "localhost")


def test_the_files_are_for_their_owner(tmp_path: Path) -> None:
    directory = tmp_path / "new"
    files = files_in(directory)
    write_certificates(directory, files, "localhost")
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert sorted(directory.iterdir()) == sorted([files.ca, files.server, files.client])
    assert "PRIVATE KEY" not in files.ca.read_text()


def test_old_files_are_replaced(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    write_certificates(tmp_path, files, "localhost")
    before = files.ca.read_text()
    write_certificates(tmp_path, files, "localhost")
    assert files.ca.read_text() != before
    handshake(files.server, files.ca.read_text(), "localhost")


def test_the_client_s_says_that_it_is_one(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    write_certificates(tmp_path, files, "localhost")
    (certificate,) = pem_certificates(files.client.read_text())
    assert distinguished_name(ssl.PEM_cert_to_DER_cert(certificate)) == "CN=client"


def test_it_lasts_a_month_and_held_yesterday() -> None:
    """Clocks of containers differ, and it is for tests only."""
    certificate = x509.load_pem_x509_certificate(Authority().certificate.encode())
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lifetime.days == 31


def attribute(kind: x509.ObjectIdentifier, text: str, written: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(kind, text, _type=_ASN1Type[written])


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (attribute(NameOID.COMMON_NAME, ' a,"b\\ ', "UTF8String"), 'CN=\\ a\\,\\"b\\\\\\ '),
        (attribute(NameOID.EMAIL_ADDRESS, "a@b", "IA5String"), "1.2.840.113549.1.9.1=#1603614062"),
        # Java takes it for UTF-8, and this for no text.
        (attribute(NameOID.COMMON_NAME, "ab", "BMPString"), "CN=\\00a\\00b"),
        (attribute(NameOID.COMMON_NAME, "a", "UniversalString"), "CN=#1c0400000061"),
    ],
)
def test_names_are_written_as_java_does(subject: x509.NameAttribute[str], name: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([subject]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
        .sign(key, SHA256())
    )
    assert distinguished_name(made.public_bytes(Encoding.DER)) == name
