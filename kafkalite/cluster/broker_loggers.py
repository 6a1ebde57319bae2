"""Python's loggers as Kafka's tools see a broker's loggers: names, and levels in Log4j's words.

Levels set here are this process' and gone with it, as in Kafka (KIP-412). So are those who watch
them: loggers belong to the process, whose brokers share them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafkalite.cluster.config_changes import ConfigChange, Operation
from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import ErrorCode, KafkaError

ROOT: Final = "root"
# Kafka's log of requests (RequestChannel): a line for each at DEBUG.
request_logger: Final = logger_of("kafka.request.logger")

_LEVELS: Final[Mapping[str, int]] = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}
_NAMES: Final[Mapping[int, str]] = {
    level: name for name, level in _LEVELS.items() if name != "TRACE"
}

_watchers: Final[list[Callable[[], None]]] = []


def when_levels_change(callback: Callable[[], None]) -> Callable[[], None]:
    """Call `callback` after a level was set here, until what this returns is called."""
    _watchers.append(callback)
    return lambda: _watchers.remove(callback)


def requests_are_logged() -> bool:
    """Tells whether each request is to have a line in the log."""
    return request_logger.isEnabledFor(logging.DEBUG)


def levels() -> dict[str, str]:
    """{logger: level in force}."""
    known = {ROOT: logging.getLogger()}
    for name, found in sorted(logging.Logger.manager.loggerDict.items()):
        if isinstance(found, logging.Logger):
            known[name] = found
    return {name: _NAMES.get(found.getEffectiveLevel(), "INFO") for name, found in known.items()}


def change_levels(changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
    """Set or clear levels. Raises KafkaError with Kafka's words (RuntimeLoggerManager)."""
    known = levels()
    for change in changes:
        if change.operation in (Operation.APPEND, Operation.SUBTRACT):
            operation = Operation(change.operation).name
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{operation} operation is not allowed for the BROKER_LOGGER resource",
            )
        if change.name not in known:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist!")
        if change.operation == Operation.DELETE and change.name == ROOT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "Removing the log level of the root logger is not allowed",
            )
        if change.operation == Operation.SET and change.value not in _LEVELS:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {change.name} to {change.value} as it is not a "
                f"supported log level. Valid log levels are {', '.join(_LEVELS)}",
            )
    if not validate_only:
        for change in changes:
            target = logging.getLogger(None if change.name == ROOT else change.name)
            is_set = change.operation == Operation.SET
            target.setLevel(_LEVELS[change.value or ""] if is_set else logging.NOTSET)
        for watcher in tuple(_watchers):
            watcher()
