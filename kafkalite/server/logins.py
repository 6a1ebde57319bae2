"""Logins, counted; failed ones are logged at most once per second and client address."""

from __future__ import annotations

import logging
from typing import Final

import trio

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 1.0
# Addresses remembered; beyond this all are forgotten.
_MAX_ADDRESSES: Final = 10_000


class Logins:
    """The logins at one broker, by TLS handshakes and by SASL."""

    def __init__(self) -> None:
        self.successful = 0
        self.failed = 0
        self._silent_until: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def add_failed(self, host: str, reason: str) -> None:
        """One more that failed, from this address. The reason holds no secret."""
        self.failed += 1
        now = trio.current_time()
        if now < self._silent_until.get(host, 0.0):
            self._unsaid[host] = self._unsaid.get(host, 0) + 1
            return
        if len(self._silent_until) >= _MAX_ADDRESSES:
            self._silent_until.clear()
            self._unsaid.clear()
        self._silent_until[host] = now + _PAUSE_SECONDS
        more = self._unsaid.pop(host, 0)
        suffix = f" (and {more} more like it)" if more else ""
        logger.warning("%s: failed authentication: %s%s", host, reason, suffix)
