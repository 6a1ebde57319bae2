"""One producer of a partition: its epoch, its last batches, the start of its open transaction.

Source: Kafka's ProducerStateEntry, BatchMetadata.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP

# The most batches that an idempotent producer has in flight
# (max.in.flight.requests.per.connection).
BATCHES_REMEMBERED: Final = 5
NO_COORDINATOR_EPOCH: Final = -1

SEQUENCES: Final = 2**31


class BatchMetadata:
    """A remembered batch of a producer."""

    __slots__ = ("last_offset", "last_sequence", "offset_delta", "timestamp")

    def __init__(
        self, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int
    ) -> None:
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """One producer in one partition."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_first_offset: int | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_REMEMBERED)

    def copy(self) -> ProducerEntry:
        """The same, which further batches do not change."""
        copied = ProducerEntry(
            self.producer_id,
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.transaction_first_offset,
        )
        copied.batches.extend(self.batches)
        return copied

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def appended(self, batch: AcceptedBatch, base_offset: int) -> None:
        """Take note of a batch of data, appended at `base_offset`."""
        delta = batch.last_offset_delta
        self.batches.append(
            BatchMetadata(batch.last_sequence, base_offset + delta, delta, batch.max_timestamp)
        )
        self.last_timestamp = batch.max_timestamp

    def begin_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch
