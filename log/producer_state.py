"""The producers of a log: their sequences and their open transactions.

For each producer id the log knows the epoch, the last five batches, and the first offset of the
open transaction. A client's batch must follow the last one's sequence. A batch that equals one of
the five is a retry, answered with its first offsets. A snapshot keeps the state with every roll and
at a clean shutdown (producer_snapshots.py). The batches after it bring it up to date.

Checking and updating are two steps: nothing changes before the batch is in the file. Source:
Kafka's ProducerStateManager, ProducerAppendInfo, ProducerStateEntry; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafkalite.log.accepted_batch import AcceptedBatch, as_accepted
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.producer_entry import SEQUENCES, BatchMetadata, ProducerEntry
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.log.verification import VerificationGuard, Verifications
from kafkalite.wire.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    read_end_transaction_marker,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, RecordBatch

_MAX_PRODUCER_EPOCH: Final = 2**15 - 1
# The default of producer.id.expiration.ms.
PRODUCER_ID_EXPIRATION_MS: Final = 86_400_000

TRANSACTION_VERSION_2: Final = 2
# Producers that are looked at in one step.
_AT_ONCE: Final = 256


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ends; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerState:
    """All producers of one log."""

    def __init__(self, name: str) -> None:
        self._name = name  # topic-partition, for messages
        self.producers: dict[int, ProducerEntry] = {}
        # First offset -> producer id; transactions begin in the order of their offsets.
        self._ongoing: dict[int, int] = {}
        # First offset -> marker's offset, of transactions whose marker is not below the high
        # watermark.
        self._unreplicated: dict[int, int] = {}
        self.verifications = Verifications()
        self.end_offset = 0

    def clear(self) -> None:
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Take the entries of a snapshot."""
        for entry in entries:
            self.producers[entry.producer_id] = entry
            if entry.transaction_first_offset is not None:
                self._ongoing[entry.transaction_first_offset] = entry.producer_id
        self._ongoing = dict(sorted(self._ongoing.items()))

    @property
    def has_unstable(self) -> bool:
        """True if a transaction is undecided, or its marker is not below the high watermark."""
        return bool(self._ongoing or self._unreplicated)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is undecided, or not yet replicated."""
        first = next(iter(self._ongoing)) if self._ongoing else None
        for offset in self._unreplicated:
            if first is None or offset < first:
                first = offset
        return first

    def high_watermark_moved(self, high_watermark: int) -> bool:
        """Make the transactions stable whose markers are below the high watermark.

        False if none waits for that.
        """
        if not self._unreplicated:
            return False
        self._unreplicated = {
            first: last for first, last in self._unreplicated.items() if last >= high_watermark
        }
        return True

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.producers.get(producer_id)
        return (
            entry is not None
            and entry.transaction_first_offset is not None
            and entry.producer_epoch == producer_epoch
        )

    def check_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Check that an epoch is not older than the producer's last one, before a verification.

        Raises KafkaError(INVALID_PRODUCER_EPOCH). Source: Kafka's
        UnifiedLog.maybeStartTransactionVerification.
        """
        entry = self.producers.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)

    def find_duplicate(self, batch: AcceptedBatch) -> BatchMetadata | None:
        """The remembered batch that this one repeats, if there is one."""
        entry = self.producers.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        last_sequence = batch.last_sequence
        for remembered in entry.batches:
            if (
                remembered.last_sequence == last_sequence
                and remembered.first_sequence == batch.base_sequence
            ):
                return remembered
        return None

    def _expects(self, batch: AcceptedBatch) -> bool:
        """True if this is a known producer's next batch, and begins no transaction."""
        entry = self.producers.get(batch.producer_id)
        return (
            entry is not None
            and entry.producer_epoch == batch.producer_epoch
            and bool(entry.batches)
            and batch.base_sequence == (entry.batches[-1].last_sequence + 1) % SEQUENCES
            and (entry.transaction_first_offset is not None) == batch.is_transactional
            and not self.verifications
        )

    def check(
        self,
        batch: AcceptedBatch,
        offset: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
        *,
        must_be_verified: bool,
    ) -> BatchMetadata | None:
        """Check that a producer may append this batch of data at `offset`.

        Returns the batch that it repeats if it is a retry, else None.

        Args:
            guard: the guard of the transaction's verification, if there was one.
            must_be_verified: True if a transaction begins only with a guard.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        if self._expects(batch):
            return None
        if origin is AppendOrigin.CLIENT:
            duplicate = self.find_duplicate(batch)
            if duplicate is not None:
                return duplicate
        if (
            must_be_verified
            and batch.is_transactional
            and not self.has_ongoing_transaction(batch.producer_id, batch.producer_epoch)
            and not self.verifications.is_guard(batch.producer_id, guard)
        ):
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction"
            )
        self.check_data(batch, offset, origin)
        return None

    def check_data(self, batch: AcceptedBatch, offset: int, origin: AppendOrigin) -> None:
        """Check that a producer may append this batch of data, which is no retry, at `offset`.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        entry = self.producers.get(batch.producer_id)
        last_epoch = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
        if origin is not AppendOrigin.REPLICATION and batch.producer_epoch < last_epoch:
            raise self._stale_epoch(batch, last_epoch, offset)
        if origin is AppendOrigin.CLIENT and self.verifications:
            self._check_first_sequence(batch, entry, offset)
        if entry is None:
            # It expired, or its records were deleted: any sequence may come next (KIP-360).
            return
        if origin is AppendOrigin.CLIENT:
            self._check_sequence(batch, entry, offset)
        if entry.transaction_first_offset is not None and not batch.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Expected transactional write from producer {batch.producer_id} at offset "
                f"{offset} in partition {self._name}",
            )

    def _check_first_sequence(
        self, batch: AcceptedBatch, entry: ProducerEntry | None, offset: int
    ) -> None:
        state = self.verifications.get(batch.producer_id)
        if state is None:
            return
        if state.supports_epoch_bump and batch.base_sequence and not (entry and entry.batches):
            raise self._out_of_order(
                batch, offset, "Expected sequence 0 for a producer with no state (transactions v2)"
            )
        if batch.base_sequence > state.lowest_sequence:
            raise self._out_of_order(batch, offset, f"{state.lowest_sequence} (earliest seen)")

    def _check_sequence(self, batch: AcceptedBatch, entry: ProducerEntry, offset: int) -> None:
        if batch.producer_epoch != entry.producer_epoch:
            if batch.base_sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
                raise self._out_of_order(
                    batch,
                    offset,
                    f"epoch {batch.producer_epoch} is new (was {entry.producer_epoch}) and starts "
                    "at 0",
                )
        elif (
            entry.producer_epoch != NO_PRODUCER_EPOCH
            and batch.base_sequence != (entry.last_sequence + 1) % SEQUENCES
        ):
            raise self._out_of_order(
                batch, offset, f"{entry.last_sequence} (current end sequence number)"
            )

    def _out_of_order(self, batch: AcceptedBatch, offset: int, expected: str) -> KafkaError:
        return KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {batch.producer_id} at offset {offset} in "
            f"partition {self._name}: {batch.base_sequence} (incoming seq. number), {expected}",
        )

    def _stale_epoch(self, batch: AcceptedBatch, last_epoch: int, offset: int) -> KafkaError:
        return KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {batch.producer_id} at offset {offset} in {self._name} is "
            f"{batch.producer_epoch}, which is smaller than the last seen epoch "
            f"{last_epoch}",
        )

    def check_marker(
        self,
        batch: AcceptedBatch,
        marker: EndTransactionMarker,
        offset: int,
        transaction_version: int = 0,
    ) -> None:
        """Check that a coordinator may append this marker at `offset`.

        With transactions v2 a marker carries the epoch after the transaction's. So a late marker
        cannot end the next transaction (KIP-890, KIP-1228).

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        entry = self.producers.get(batch.producer_id) or ProducerEntry(batch.producer_id)
        if transaction_version >= TRANSACTION_VERSION_2:
            stale = batch.producer_epoch <= entry.producer_epoch
            # It is the same marker again after its transaction ended, or an epoch that cannot grow.
            if batch.producer_epoch == entry.producer_epoch and (
                entry.transaction_first_offset is None
                or batch.producer_epoch == _MAX_PRODUCER_EPOCH
            ):
                stale = False
        else:
            stale = batch.producer_epoch < entry.producer_epoch
        if stale:
            raise self._stale_epoch(batch, entry.producer_epoch, offset)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {batch.producer_id} at offset {offset} "
                f"in partition {self._name}: {marker.coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)",
            )

    def update_data(self, batch: AcceptedBatch, base_offset: int) -> None:
        """Take note of a batch of data that was appended at `base_offset`."""
        producer_id = batch.producer_id
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        entry.begin_epoch(batch.producer_epoch)
        entry.appended(batch, base_offset)
        if batch.is_transactional:
            self.verifications.end(producer_id)
            if entry.transaction_first_offset is None:
                entry.transaction_first_offset = base_offset
                self._ongoing[base_offset] = producer_id

    def update_marker(
        self, batch: AcceptedBatch, marker: EndTransactionMarker, offset: int
    ) -> CompletedTransaction | None:
        """Take note of a marker appended at `offset`; the transaction it ends, if one was open.

        The transaction stays open (and unstable) until `complete`: its entry in the transaction
        index is written first.
        """
        producer_id = batch.producer_id
        self.verifications.end(producer_id)
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        first_offset = entry.transaction_first_offset
        entry.begin_epoch(batch.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = batch.max_timestamp
        entry.transaction_first_offset = None
        if first_offset is None:
            return None
        return CompletedTransaction(
            producer_id, first_offset, offset, marker.control_type is ControlRecordType.ABORT
        )

    def _last_stable_offset(self, completed: CompletedTransaction) -> int:
        """The last stable offset once this transaction is complete and replicated."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> AbortedTransaction | None:
        """Decide a transaction. It is stable once its marker is below the high watermark.

        Returns what the transaction index has to keep, if it was aborted.
        """
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated[completed.first_offset] = completed.last_offset
        if not completed.is_aborted:
            return None
        return AbortedTransaction(
            completed.producer_id,
            completed.first_offset,
            completed.last_offset,
            self._last_stable_offset(completed),
        )

    def replay(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Take note of a batch found in the log (recovery, replication), unchecked.

        The caller passes a completed transaction to `complete`.
        """
        completed = None
        if batch.has_producer_id:
            if batch.is_control:
                marker = read_end_transaction_marker(batch)
                if marker is not None:
                    completed = self.update_marker(as_accepted(batch), marker, batch.base_offset)
            else:
                self.update_data(as_accepted(batch), batch.base_offset)
        self.end_offset = batch.next_offset
        return completed

    def log_start_moved(self, log_start_offset: int) -> None:
        """Forget the transactions whose markers lie below the new log start offset."""
        self._unreplicated = {
            first: last for first, last in self._unreplicated.items() if last >= log_start_offset
        }
        self.end_offset = max(self.end_offset, log_start_offset)

    def take_back(self, producers: Mapping[int, ProducerEntry | None], offset: int) -> None:
        """Have these producers as they were before the batches from `offset` on."""
        for producer_id, entry in producers.items():
            if entry is None:
                self.producers.pop(producer_id, None)
            else:
                self.producers[producer_id] = entry
        for first_offset in [each for each in self._ongoing if each >= offset]:
            del self._ongoing[first_offset]
        self.end_offset = offset

    def remove_expired(self, now_ms: int, expiration_ms: int) -> Iterator[None]:
        """Forget producers without an open transaction that were silent for `expiration_ms`.

        Others may change them between two steps.
        """
        for number, producer_id in enumerate(list(self.producers), 1):
            entry = self.producers.get(producer_id)
            if (
                entry is not None
                and entry.transaction_first_offset is None
                and now_ms - entry.last_timestamp >= expiration_ms
            ):
                del self.producers[producer_id]
            if number % _AT_ONCE == 0:
                yield
        yield from self.verifications.remove_expired(now_ms, expiration_ms)
