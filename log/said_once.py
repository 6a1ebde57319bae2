"""What goes wrong again and again is said once."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafkalite.wire.errors import KafkaError

# What did not happen for so long is said again.
_QUIET_SECONDS: Final = 60.0
# So many different things are told apart.
_MOST_REMEMBERED: Final = 100


class SaidOnce:
    """Says what goes wrong when it begins, and not each time it is tried again."""

    def __init__(self, name: str, logger: logging.Logger, level: int = logging.ERROR) -> None:
        self._name = name
        self._logger = logger
        self._level = level
        self._last: dict[str, float] = {}

    def failed(self, error: Exception) -> None:
        """Something failed: one line; for what is no fault of a disk or a request, where it happened."""
        text = f"{type(error).__name__}: {error}"
        now = time.monotonic()
        last = self._last.get(text)
        if len(self._last) >= _MOST_REMEMBERED:
            self._last.clear()
        self._last[text] = now
        if last is not None and now - last < _QUIET_SECONDS:
            return
        is_expected = isinstance(error, OSError | KafkaError)
        self._logger.log(
            self._level,
            "%s: %s",
            self._name,
            error if is_expected else text,
            exc_info=None if is_expected else error,
        )
