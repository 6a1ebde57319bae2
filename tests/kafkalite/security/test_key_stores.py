"""Key and trust stores in all formats, those of Java's keytool among them."""

import contextlib
import hashlib
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.key_stores import (
    StoreError,
    pem_key_material,
    read_key_store,
    read_trust_store,
)
from kafkalite.security.tls import TlsSettings, make_context
from tests.kafkalite.security.certificates import Authority

AUTHORITY = Authority()
SERVER = AUTHORITY.server()
needs_keytool = pytest.mark.skipif(shutil.which("keytool") is None, reason="needs a JDK")


def usable(path: Path, kind: str, password: str | None, key_password: str | None = None) -> None:
    make_context(TlsSettings(read_key_store(path, kind, password, key_password)))


def test_pem_file(tmp_path: Path) -> None:
    file = tmp_path / "all.pem"
    file.write_text(SERVER.certificate + AUTHORITY.certificate + SERVER.key)
    usable(file, "PEM", None)
    assert len(read_trust_store(file, "PEM", None)) == 2


def test_encrypted_pem(tmp_path: Path) -> None:
    file = tmp_path / "all.pem"
    file.write_text(SERVER.encrypted_key("pw") + SERVER.certificate)
    usable(file, "PEM", None, "pw")


def test_pem_without_key_or_certificate() -> None:
    with pytest.raises(StoreError, match="one private key"):
        pem_key_material(SERVER.certificate, SERVER.certificate, None)
    with pytest.raises(StoreError, match="at least one certificate"):
        pem_key_material(SERVER.key, SERVER.key, None)


def test_pkcs12(tmp_path: Path) -> None:
    file = tmp_path / "store.p12"
    file.write_bytes(SERVER.pkcs12("pw"))
    usable(file, "PKCS12", "pw")
    usable(file, "JKS", "pw")  # what it is counts, not what it is called
    with pytest.raises(StoreError, match="cannot open"):
        usable(file, "PKCS12", "wrong")
    with pytest.raises(StoreError, match="password is not set"):
        usable(file, "PKCS12", None)


def keytool(*arguments: str) -> None:
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)


@pytest.mark.slow
@needs_keytool
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_stores_of_keytool(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "keys"
    keytool(
        *("-genkeypair", "-alias", "k", "-keyalg", "RSA", "-dname", "CN=x", "-storetype", kind),
        *("-keystore", str(store), "-storepass", "storepass", "-noprompt"),
        *(("-keypass", "keypass") if kind == "JKS" else ()),
    )
    material = read_key_store(store, kind, "storepass", "keypass" if kind == "JKS" else None)
    make_context(TlsSettings(material))
    exported, trust = tmp_path / "cert", tmp_path / "trust"
    keytool(
        *("-exportcert", "-rfc", "-alias", "k", "-keystore", str(store)),
        *("-storepass", "storepass", "-file", str(exported)),
    )
    keytool(
        *("-importcert", "-alias", "a", "-file", str(exported), "-keystore", str(trust)),
        *("-storetype", kind, "-storepass", "trustpass", "-noprompt"),
    )
    (trusted,) = read_trust_store(trust, kind, "trustpass")
    assert ssl.PEM_cert_to_DER_cert(trusted) == ssl.PEM_cert_to_DER_cert(exported.read_text())
    with pytest.raises(StoreError, match=r"password is wrong|cannot open"):
        read_trust_store(trust, kind, "wrong")
    if kind == "JKS":
        assert read_trust_store(trust, kind, None) == (trusted,)
        with pytest.raises(StoreError, match="the password of the key is wrong"):
            read_key_store(store, kind, "storepass", "wrong")
        with pytest.raises(StoreError, match="no private key"):
            read_key_store(trust, kind, "trustpass", None)
        damaged = tmp_path / "damaged"
        for end in range(20, 400, 7):
            damaged.write_bytes(store.read_bytes()[:end])
            with pytest.raises(StoreError):
                read_trust_store(damaged, kind, None)


@pytest.mark.parametrize("kind", ["PEM", "JKS", "PKCS12"])
def test_stores_that_are_none(tmp_path: Path, kind: str) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(StoreError, match="No such file"):
        read_key_store(missing, kind, "pw", None)
    missing.write_bytes(b"\xff\x00nonsense")
    with pytest.raises(StoreError):
        read_key_store(missing, kind, "pw", None)
    with pytest.raises(StoreError):
        read_trust_store(missing, kind, "pw")


def jks(*entries: bytes, password: str = "pw", version: int = 2) -> bytes:
    """A store of type JKS, signed."""
    body = b"\xfe\xed\xfe\xed" + version.to_bytes(4) + len(entries).to_bytes(4) + b"".join(entries)
    return body + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def jks_certificate(certificate: str) -> bytes:
    der = ssl.PEM_cert_to_DER_cert(certificate)
    return b"\0\x05X.509" + len(der).to_bytes(4) + der


TRUSTED = b"\0\0\0\x02\0\x01a" + bytes(8) + jks_certificate(AUTHORITY.certificate)
NO_CHAIN = b"\0\0\0\x01\0\x01k" + bytes(8) + b"\0\0\0\x01k" + bytes(4)


def test_jks_written_here(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_bytes(jks(TRUSTED, TRUSTED))
    assert len(read_trust_store(file, "JKS", "pw")) == 2
    with pytest.raises(StoreError, match="the password is wrong"):
        read_trust_store(file, "JKS", "other")
    file.write_bytes(jks(NO_CHAIN))
    with pytest.raises(StoreError, match="a key has no certificate"):
        read_key_store(file, "JKS", "pw", None)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzed") / "store"


# Bytes after a store make the library try BER, with a warning.
@pytest.mark.filterwarnings("ignore:PKCS#12 bundle could not be parsed as DER")
@given(
    st.sampled_from([jks(TRUSTED), jks(NO_CHAIN), jks(TRUSTED, NO_CHAIN), SERVER.pkcs12("pw")]),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=5)), min_size=1, max_size=4),
    st.booleans(),
)
def test_no_store_does_anything_but_parse_or_be_refused(
    file: Path, store: bytes, changes: list[tuple[int, bytes]], is_signed: bool
) -> None:
    changed = bytearray(store)
    for position, data in changes:
        changed[position : position + len(data)] = data
    if is_signed and store.startswith(b"\xfe\xed"):
        body = bytes(changed[:-20])
        digest = hashlib.sha1("pw".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
        changed[-20:] = digest
    file.write_bytes(changed)
    with contextlib.suppress(StoreError):
        read_key_store(file, "JKS", "pw", None)
    with contextlib.suppress(StoreError):
        read_trust_store(file, "JKS", "pw")


def test_other_kinds_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="type BKS is not known"):
        read_trust_store(tmp_path, "BKS", None)


def test_keys_are_not_shown() -> None:
    material = pem_key_material(SERVER.key, SERVER.certificate, "hush")
    assert "PRIVATE" not in repr(material)
    assert "hush" not in repr(material)
