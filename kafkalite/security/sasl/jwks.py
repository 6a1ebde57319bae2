"""The public keys that sign tokens: from a file or a URL, read again from time to time.

A file is read again when it has changed. A URL is fetched in a thread, at the start, every
`sasl.oauthbearer.jwks.endpoint.refresh.ms`, and soon after a token names a key that is not known.

Source: Kafka's RefreshingHttpsJwks and JwksFileVerificationKeyResolver (KIP-768).
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import trio

from kafkalite.log.loggers import logger_of

logger = logger_of(__name__)

_MAX_BYTES: Final = 1024 * 1024
_TIMEOUT_SECONDS: Final = 10.0
# An unknown key may be asked for by anybody: fetch for it no more often than this.
_SOONEST_SECONDS: Final = 10.0


class KeysUnavailable(Exception):
    """The keys cannot be had; one sentence with the reason."""


@dataclass(frozen=True, slots=True)
class RefreshTimes:
    """`sasl.oauthbearer.jwks.endpoint.*`, in seconds."""

    refresh: float = 3600.0
    retry: float = 0.1
    retry_max: float = 10.0


@dataclass(frozen=True, slots=True)
class _Key:
    """A public key, and what its set says of it."""

    public: Any
    kind: str
    key_id: str | None
    use: str | None
    algorithm: str | None

    def serves(self, key_id: str | None, algorithm: str) -> bool:
        """True unless the set or the token says otherwise."""
        return (
            self.kind == _KINDS.get(algorithm[:2])
            and (key_id is None or self.key_id in (None, key_id))
            and self.use in (None, "sig")
            and self.algorithm in (None, algorithm)
        )


_KINDS: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


def parse_keys(data: bytes, place: str) -> list[_Key]:
    """The keys that can be used, one at least. A shared secret among public keys is none.

    Raises KeysUnavailable.
    """
    try:
        given = json.loads(data)["keys"]
        found = [key for each in given if (key := _key_of(each)) is not None]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise KeysUnavailable(f"{place} holds no JSON Web Key Set: {error}") from None
    if not found:
        raise KeysUnavailable(f"{place} holds no JSON Web Key Set: it has no key of use")
    return found


def _key_of(given: Any) -> _Key | None:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is no key at all."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    kind = given["kty"]
    try:
        made = PyJWK(given).key if kind != "oct" else None
    except PyJWTError:
        return None
    if made is None:
        return None
    public = made.public_key() if hasattr(made, "public_key") else made
    return _Key(public, kind, given.get("kid"), given.get("use"), given.get("alg"))


def _find(keys: Sequence[_Key], key_id: str | None, algorithm: str) -> Any | None:
    """The first, of Kafka's choice (jose4j's VerificationJwkSelector)."""
    return next((key.public for key in keys if key.serves(key_id, algorithm)), None)


class FileKeys:
    """Keys of a file."""

    def __init__(self, path: Path) -> None:
        """Raises KeysUnavailable."""
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: Sequence[_Key] = ()
        self._read()

    def _read(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._keys = parse_keys(self._path.read_bytes(), str(self._path))
                self._stamp = stamp
        except OSError as error:
            raise KeysUnavailable(f"cannot read {self._path}: {error.strerror}") from None

    def find(self, key_id: str | None, algorithm: str) -> Any | None:
        """The key with this id, or without one, for this algorithm."""
        try:
            self._read()
        except KeysUnavailable as error:
            logger.warning("keys of an earlier time are used: %s", error)
        return _find(self._keys, key_id, algorithm)


class UrlKeys:
    """Keys behind an HTTP or HTTPS URL. `run` keeps them fresh; until then there are none."""

    def __init__(self, url: str, times: RefreshTimes, trust: ssl.SSLContext | None = None) -> None:
        """Raises ValueError for a URL of something else."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{url} is no URL of a file, nor one of http or https")
        self._url = url
        self._times = times
        self._trust = trust
        self._keys: Sequence[_Key] = ()
        self._wanted = trio.Event()

    def find(self, key_id: str | None, algorithm: str) -> Any | None:
        """The key with this id, or without one, for this algorithm.

        One that is not known is looked for soon.
        """
        found = _find(self._keys, key_id, algorithm)
        if found is None:
            self._wanted.set()
        return found

    def fetch(self) -> None:
        """Fetch now; waits for the network. Raises KeysUnavailable."""
        request = urllib.request.Request(self._url, headers={"Accept": "application/json"})
        try:
            with urllib.request.urlopen(
                request, timeout=_TIMEOUT_SECONDS, context=self._trust
            ) as answer:
                data = answer.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise KeysUnavailable(f"cannot fetch {self._url}: {reason}") from None
        if len(data) > _MAX_BYTES:
            raise KeysUnavailable(f"{self._url} answers more than {_MAX_BYTES} bytes")
        self._keys = parse_keys(data, self._url)

    async def run(self) -> None:
        """Fetch for ever, in a thread."""
        backoff = self._times.retry
        while True:
            self._wanted = trio.Event()
            try:
                await trio.to_thread.run_sync(self.fetch, abandon_on_cancel=True)
                pause, backoff = self._times.refresh, self._times.retry
            except KeysUnavailable as error:
                logger.warning("%s", error)
                pause, backoff = backoff, min(2 * backoff, self._times.retry_max)
            soonest = trio.current_time() + min(_SOONEST_SECONDS, pause)
            with trio.move_on_after(pause):
                await self._wanted.wait()
                await trio.sleep_until(soonest)


def file_of(url: str) -> Path:
    """The path in a `file:` URL. Raises ValueError."""
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise ValueError(f"{url} is no URL of a file")
    return Path(unquote(parts.path))
