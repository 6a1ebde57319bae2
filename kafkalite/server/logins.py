"""Logins, counted; failed ones are logged at most once per second and client address."""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.log.loggers import logger_of

logger = logger_of(__name__)

_PAUSE_SECONDS: Final = 1.0
# Addresses remembered; beyond this all are forgotten.
_MAX_ADDRESSES: Final = 10_000
# The text may hold what the client sent, up to sasl.server.max.receive.size.
_MAX_REASON: Final = 500


class Logins:
    """The logins at one broker, by TLS handshakes and by SASL."""

    def __init__(self) -> None:
        self.successful = 0
        self.failed = 0
        self._silent_until: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def add_failed(self, host: str, reason: str) -> None:
        """Count a failed login from this address. The reason holds no secret."""
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
        told = reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]}..."
        logger.warning("%s: failed authentication: %s%s", host, told, suffix)
