"""An error that comes again and again is logged once."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafkalite.wire.errors import KafkaError

# An error that was away for so long is logged again.
_QUIET_SECONDS: Final = 60.0
# So many different errors are told apart.
_MOST_REMEMBERED: Final = 100


class SaidOnce:
    """Logs an error when it comes first, and not when the next try meets it again."""

    def __init__(self, name: str, logger: logging.Logger, level: int = logging.ERROR) -> None:
        self._name = name
        self._logger = logger
        self._level = level
        self._last: dict[str, float] = {}

    def failed(self, error: Exception) -> None:
        """Log one line, if the error is new.

        An error that is no fault of a disk or a request is a bug: its traceback is logged, too.
        """
        text = f"{type(error).__name__}: {error}"
        now = time.monotonic()
        last = self._last.get(text)
        if len(self._last) >= _MOST_REMEMBERED:
            self._last.clear()
        self._last[text] = now
        if last is not None and now - last < _QUIET_SECONDS:
            return
        is_expected = isinstance(error, OSError | KafkaError)
        words: object = error if is_expected else text
        if isinstance(error, KafkaError) and error.message:
            words = error.message
        self._logger.log(
            self._level,
            "%s: %s",
            self._name,
            words,
            exc_info=None if is_expected else error,
        )
