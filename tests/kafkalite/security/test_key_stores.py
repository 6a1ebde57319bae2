"""Key and trust stores in all formats, those of Java's keytool among them."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

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


def test_other_kinds_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="type BKS is not known"):
        read_trust_store(tmp_path, "BKS", None)


def test_keys_are_not_shown() -> None:
    material = pem_key_material(SERVER.key, SERVER.certificate, "hush")
    assert "PRIVATE" not in repr(material)
    assert "hush" not in repr(material)
