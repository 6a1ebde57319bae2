"""Metadata transactions: what lies between their begin and their end counts with the end (KIP-868).

Source: MetadataBatchLoader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from kafkalite.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from kafkalite.wire.messages.stored.end_transaction_record import EndTransactionRecord


class MetadataTransactions:
    """Holds back the records of a transaction that has not ended."""

    def __init__(self) -> None:
        self._open: list[object] | None = None

    @property
    def is_open(self) -> bool:
        """Tells whether records are held back."""
        return self._open is not None

    def clear(self) -> None:
        """Whatever was held back is gone."""
        self._open = None

    def take(self, records: Iterable[object]) -> list[object]:
        """The records that count now. Raises KafkaError(CORRUPT_MESSAGE)."""
        free: list[object] = []
        for record in records:
            change = self.CHANGES.get(type(record))
            if change is not None:
                free += change(self)
            elif self._open is not None:
                self._open.append(record)
            else:
                free.append(record)
        return free

    def _begin(self: MetadataTransactions) -> list[object]:
        if self._open is not None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a metadata transaction within another")
        self._open = []
        return []

    def _end(self: MetadataTransactions) -> list[object]:
        ended, self._open = self._open, None
        if ended is None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a metadata transaction ends unbegun")
        return ended

    def _abort(self: MetadataTransactions) -> list[object]:
        self._end()
        return []

    CHANGES: ClassVar[Mapping[type[Any], Callable[[MetadataTransactions], list[object]]]] = {
        BeginTransactionRecord: _begin,
        EndTransactionRecord: _end,
        AbortTransactionRecord: _abort,
    }
