"""Errors for the user of a job: one sentence that names the thing, the value and what to do."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode


class SparkSourceError(ValueError):
    """Something the user gave, or found, does not fit. The message is whole."""


class NotADataDirectory(SparkSourceError):
    """The path is no data directory of a broker."""


class UnknownTopic(SparkSourceError):
    """A topic or partition that is not there."""


class DamagedLog(SparkSourceError):
    """Bytes below the end of a log that are not what was written."""


class OffsetOutOfRange(SparkSourceError):
    """Records that should be read are not there any more: retention, or a topic made anew."""


class BrokerError(SparkSourceError):
    """A broker refuses, or cannot be reached; `code` is Kafka's, None where there was no answer."""

    def __init__(self, message: str, code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[BrokerError], tuple[str, ErrorCode | None]]:
        return type(self), (str(self), self.code)  # Spark sends it from task to driver
