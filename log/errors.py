"""Errors of the log that say more than a code."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.wire.errors import ErrorCode, KafkaError


class RecordError(NamedTuple):
    """One refused record: its index in the batch, and the reason (Produce v8+, KIP-467)."""

    batch_index: int
    message: str | None


class InvalidRecordsError(KafkaError):
    """A batch is refused for single records: `record_errors` go into the response."""

    def __init__(
        self, code: ErrorCode, message: str | None, record_errors: tuple[RecordError, ...]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class TakesLong(Exception):
    """To check a batch takes longer than others should wait: checked_batch.py is for a thread."""


class DataDirectoryInUse(Exception):
    """Another broker, or another part of this process, holds the data directory's lock."""


class InconsistentDataDirectory(Exception):
    """The data directory belongs to another cluster or node, or cannot be understood."""
