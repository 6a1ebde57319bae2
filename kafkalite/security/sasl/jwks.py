"""The public keys that sign tokens: from a file or a URL, read again from time to time.

A file is read again when it has changed. A URL is fetched in a thread, at the start, every
`sasl.oauthbearer.jwks.endpoint.refresh.ms`, and soon after a token names a key that is not known.

Source: Kafka's RefreshingHttpsJwks and JwksFileVerificationKeyResolver (KIP-768).
"""

from __future__ import annotations

import logging
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import trio

if TYPE_CHECKING:
    from jwt import PyJWKSet

logger = logging.getLogger(__name__)

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


def _parse(data: bytes, place: str) -> PyJWKSet:
    from jwt import PyJWKSet
    from jwt.exceptions import PyJWKError, PyJWKSetError

    try:
        return PyJWKSet.from_json(data.decode())
    except (PyJWKSetError, PyJWKError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeysUnavailable(f"{place} holds no JSON Web Key Set: {error}") from None


def _find(keys: PyJWKSet | None, key_id: str | None) -> Any | None:
    for key in keys.keys if keys is not None else ():
        if key.key_type == "oct":
            continue  # a shared secret among public keys proves nothing
        if key_id is None or key.key_id == key_id:
            return key
    return None


class FileKeys:
    """Keys of a file."""

    def __init__(self, path: Path) -> None:
        """Raises KeysUnavailable."""
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: PyJWKSet | None = None
        self._read()

    def _read(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._keys = _parse(self._path.read_bytes(), str(self._path))
                self._stamp = stamp
        except OSError as error:
            raise KeysUnavailable(f"cannot read {self._path}: {error.strerror}") from None

    def find(self, key_id: str | None) -> Any | None:
        """The key with this id; the only way to choose where no id is given is the first."""
        try:
            self._read()
        except KeysUnavailable as error:
            logger.warning("keys of an earlier time are used: %s", error)
        return _find(self._keys, key_id)


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
        self._keys: PyJWKSet | None = None
        self._wanted = trio.Event()

    def find(self, key_id: str | None) -> Any | None:
        """The key with this id. One that is not known is looked for soon."""
        found = _find(self._keys, key_id)
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
        self._keys = _parse(data, self._url)

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
