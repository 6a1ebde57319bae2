"""The broker's log: one line each on stderr, for people or as JSON."""

from __future__ import annotations

import logging
import re
import sys
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class OneLine(logging.Formatter):
    """A message is one line: a name in it may hold what a client likes, line ends included."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = _CONTROL.sub(lambda found: repr(found[0])[1:-1], record.message)
        return super().formatMessage(record)


def log_to_stderr(level: str, form: str) -> None:
    """The standard library's loggers do the work; in JSON another formatter writes their lines."""
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        from pythonjsonlogger.json import JsonFormatter

        names = {"levelname": "level", "name": "logger", "exc_info": "exception"}
        handler.setFormatter(
            JsonFormatter(["levelname", "name", "message"], rename_fields=names, timestamp=True)
        )
    else:
        handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
