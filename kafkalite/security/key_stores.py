"""Key and trust stores: PEM, PKCS12 and JKS, all read into PEM.

JKS is read here: the format is small, and the one library for it has not been kept for years.

    magic FEEDFEED, version 2, count
    per entry: tag (1 key, 2 certificate), alias, date (int64)
               key: length, protected key, count of certificates, those certificates
               certificate: type ("X.509"), length, DER
    SHA-1 of (password in UTF-16, "Mighty Aphrodite", all of the above)

As Java does, a store of type JKS or PKCS12 is read as what its first bytes say it is.
Source: Kafka's DefaultSslEngineFactory (KIP-651), Java's sun.security.provider.JavaKeyStore.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkalite.security import pkcs12
from kafkalite.security.pkcs12 import Unlock, Unlocked

PEM: Final = "PEM"
STORE_TYPES: Final = (PEM, "PKCS12", "JKS")

_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_JKS_KEY, _JKS_CERTIFICATE = 1, 2
_JKS_WORDS: Final = b"Mighty Aphrodite"
_SHA1_BYTES: Final = 20
_MAX_STORE_BYTES: Final = 16 * 1024 * 1024

_CERTIFICATES: Final = re.compile(
    r"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----.*?"
    r"-----END (?:TRUSTED |X509 )?CERTIFICATE-----",
    re.DOTALL,
)
_PRIVATE_KEYS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)


class StoreError(Exception):
    """A store cannot be used; one sentence that holds no secret."""


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """A private key and its certificates, the own one first, as PEM."""

    key: str = field(repr=False)
    certificates: tuple[str, ...]
    key_password: str | None = field(default=None, repr=False)


def pem_key_material(key: str, chain: str, key_password: str | None) -> KeyMaterial:
    """A key and certificates given as PEM. Raises StoreError."""
    keys = _PRIVATE_KEYS.findall(key)
    if len(keys) != 1:
        raise StoreError(f"one private key in PEM is expected, but there are {len(keys)}")
    return KeyMaterial(keys[0], pem_certificates(chain), key_password)


def pem_certificates(text: str) -> tuple[str, ...]:
    """The certificates in a PEM text. Raises StoreError if there is none."""
    found = tuple(_CERTIFICATES.findall(text))
    if not found:
        raise StoreError("at least one certificate in PEM is expected, but none was found")
    return found


def read_key_store(
    path: Path,
    kind: str,
    password: str | None,
    key_password: str | None,
    unlock: Unlock = pkcs12.unlock,
) -> KeyMaterial:
    """The first key of a store, with its certificates. Raises StoreError."""
    data = _read(path, kind)
    if kind == PEM:
        text = _text(path, data)
        return pem_key_material(text, text, key_password)
    if password is None:
        raise StoreError(f"{path}: its password is not set")
    if data.startswith(_JKS_MAGIC):
        return _JavaKeyStore(path, data, password).key_material(key_password or password)
    found = _unlocked(path, data, password, unlock)
    if found.key is None:
        raise StoreError(f"{path}: there is no private key with a certificate in it")
    return KeyMaterial(found.key, tuple(found.certificates))


def read_trust_store(
    path: Path, kind: str, password: str | None, unlock: Unlock = pkcs12.unlock
) -> tuple[str, ...]:
    """The trusted certificates of a store. Raises StoreError."""
    data = _read(path, kind)
    if kind == PEM:
        return pem_certificates(_text(path, data))
    if data.startswith(_JKS_MAGIC):
        found = _JavaKeyStore(path, data, password).certificates
    else:
        found = tuple(_unlocked(path, data, password, unlock).certificates)
    if not found:
        raise StoreError(f"{path}: there is no trusted certificate in it")
    return found


def _read(path: Path, kind: str) -> bytes:
    if kind not in STORE_TYPES:
        raise StoreError(f"a store of type {kind} is not known ({', '.join(STORE_TYPES)})")
    try:
        if path.stat().st_size > _MAX_STORE_BYTES:
            raise StoreError(f"{path} is larger than {_MAX_STORE_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise StoreError(f"{path} is not PEM") from None


# PKCS12


def _unlocked(path: Path, data: bytes, password: str | None, unlock: Unlock) -> Unlocked:
    try:
        return unlock(data, password)
    except ValueError as error:
        raise StoreError(f"cannot open {path}: {error}") from None


# JKS


class _JavaKeyStore:
    """A parsed store; without a password its integrity is not checked, as in Java."""

    def __init__(self, path: Path, data: bytes, password: str | None) -> None:
        self._path = path
        self._data = data
        self._position = len(_JKS_MAGIC)
        self._keys: list[tuple[bytes, tuple[str, ...]]] = []
        self._certificates: list[str] = []
        if password is not None:
            self._check(password)
        try:
            self._parse()
        except (IndexError, ValueError) as error:
            raise StoreError(f"{path} is damaged: {error}") from None

    @property
    def certificates(self) -> tuple[str, ...]:
        return tuple(self._certificates)

    def key_material(self, key_password: str) -> KeyMaterial:
        """The first key. Raises StoreError."""
        if not self._keys:
            raise StoreError(f"{self._path}: there is no private key in it")
        protected, chain = self._keys[0]
        try:
            der = _unprotect(protected, _utf16(key_password))
        except (IndexError, ValueError):
            raise StoreError(f"{self._path}: the password of the key is wrong") from None
        body = base64.encodebytes(der).decode()
        key = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----"
        return KeyMaterial(key, chain)

    def _check(self, password: str) -> None:
        body, digest = self._data[:-_SHA1_BYTES], self._data[-_SHA1_BYTES:]
        expected = hashlib.sha1(_utf16(password) + _JKS_WORDS + body).digest()
        if not hmac.compare_digest(expected, digest):
            raise StoreError(
                f"cannot open {self._path}: the password is wrong, or the file was changed"
            )

    def _parse(self) -> None:
        version, count = self._number(4), self._number(4)
        if version != 2:
            raise ValueError(f"version {version} is not known")
        for _ in range(count):
            tag = self._number(4)
            self._bytes(2)  # the alias
            self._number(8)  # its date
            if tag == _JKS_KEY:
                protected = self._bytes(4)
                chain = tuple(self._certificate() for _ in range(self._number(4)))
                if not chain:
                    raise ValueError("a key has no certificate")
                self._keys.append((protected, chain))
            elif tag == _JKS_CERTIFICATE:
                self._certificates.append(self._certificate())
            else:
                raise ValueError(f"an entry of kind {tag} is not known")

    def _certificate(self) -> str:
        kind = self._bytes(2)
        if kind != b"X.509":
            raise ValueError("a certificate is not of type X.509")
        return ssl.DER_cert_to_PEM_cert(self._bytes(4))

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size))

    def _bytes(self, length_size: int) -> bytes:
        return self._take(self._number(length_size))

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if end > len(self._data) - _SHA1_BYTES:
            raise ValueError("it ends too early")
        taken = self._data[self._position : end]
        self._position = end
        return taken


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


def _unprotect(protected: bytes, password: bytes) -> bytes:
    """The key inside a PKCS8 EncryptedPrivateKeyInfo, by Java's own KeyProtector."""
    body, _ = _der(protected, 0)
    _, after_algorithm = _der(body, 0)
    data, _ = _der(body, after_algorithm)
    salt, encrypted, check = data[:20], data[20:-20], data[-20:]
    stream, digest = b"", salt
    while len(stream) < len(encrypted):
        digest = hashlib.sha1(password + digest).digest()
        stream += digest
    key = bytes(a ^ b for a, b in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(password + key).digest(), check):
        raise ValueError("the check of the key does not match")
    return key


def _der(data: bytes, position: int) -> tuple[bytes, int]:
    """The content of the DER element at a position, and where the next one begins."""
    length = data[position + 1]
    start = position + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(data[start : start + size])
        start += size
    if start + length > len(data):
        raise ValueError("an element ends too early")
    return data[start : start + length], start + length
