"""What is said to whoever runs a job: one sentence that names the thing, the value and what to do."""

from __future__ import annotations


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
