"""An error that comes again and again is logged once."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafkalite.wire.errors import KafkaError

# An error that did not occur for this long is logged again.
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

    def failed(self, error: Exception, tried_every_seconds: float = 0.0) -> None:
        """Log one line, if the error is new.

        A rare task may succeed twice before its error counts
        as new. An error that neither a disk nor a request explains is a bug: its traceback is
        logged, too.
        """
        text = f"{type(error).__name__}: {error}"
        is_of_a_file = isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError)
        key = text
        if isinstance(error, OSError) and error.errno is not None and not is_of_a_file:
            # A full disk is met by every file on it: the first one stands for all.
            key = f"{type(error).__name__}: {error.errno}"
        now = time.monotonic()
        last = self._last.get(key)
        if len(self._last) >= _MOST_REMEMBERED:
            self._last.clear()
        self._last[key] = now
        quiet_seconds = max(_QUIET_SECONDS, 2.5 * tried_every_seconds)
        if last is not None and now - last < quiet_seconds:
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
