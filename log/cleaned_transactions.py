"""Transactions, as the cleaner meets them on its way through a log.

Data of an aborted transaction goes at once. A marker goes later: once a round meets no batch of its
transaction, the marker gets a delete horizon, and goes when that has passed. Until then the abort
stays in the transaction index. Source: Kafka's CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from kafkalite.log.transaction_index import AbortedTransaction, TransactionIndex
from kafkalite.wire.control_records import ControlRecordType, control_record_type
from kafkalite.wire.record_batch import RecordBatch, iterate_records


class CleanedTransactions:
    """The transactions of one round. Every batch in order goes to `batch_met` or `marker_met`."""

    def __init__(self) -> None:
        # Ids of producers with a batch met, and no marker yet.
        self._committed: set[int] = set()
        # Producer id -> (transaction, True if a batch of it was met).
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}
        self._coming: list[tuple[int, AbortedTransaction]] = []
        # Takes the aborts that are still needed; None while the offset map is built.
        self.index: TransactionIndex | None = None

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Take in aborted transactions that later batches may belong to."""
        for transaction in aborted:
            heappush(self._coming, (transaction.first_offset, transaction))

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, transaction = heappop(self._coming)
            self._aborted.setdefault(transaction.producer_id, (transaction, False))

    def batch_met(self, batch: RecordBatch) -> bool:
        """True if this batch of data belongs to an aborted transaction, and may go."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        aborted = self._aborted.get(batch.producer_id)
        if aborted is None:
            self._committed.add(batch.producer_id)
            return False
        self._aborted[batch.producer_id] = (aborted[0], True)
        return True

    def marker_met(self, batch: RecordBatch) -> bool:
        """True if no batch of this marker's transaction is left, so that the marker may go.

        Raises KafkaError(INVALID_RECORD): it holds no control record.
        """
        self._begin_up_to(batch.last_offset)
        record = next(iterate_records(batch), None)
        if record is None:  # emptied before
            return True
        match control_record_type(record):
            case ControlRecordType.ABORT:
                aborted = self._aborted.pop(batch.producer_id, None)
                if aborted is None or not aborted[1]:
                    return True
                if self.index is not None:
                    self.index.append(aborted[0])
                return False
            case ControlRecordType.COMMIT:
                if batch.producer_id not in self._committed:
                    return True
                self._committed.remove(batch.producer_id)
                return False
            case _:
                return False
