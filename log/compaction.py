"""A log is compacted: the last record of each key stays; offsets never change.

A round has two halves. The first reads the dirty part of the log, and notes the last offset of each
key. The second reads all segments up to there, and writes the records that stay to new segments;
several small ones become one. A new segment takes the place of the old ones by renaming
(segment_replacement.py): a crash leaves the old or the new.

A batch keeps its first and last offset. It stays as it is if all its records do. It stays, emptied,
if it is a producer's last batch, whose sequence is needed, or a segment's last batch. Without the
latter consumers could not go on to the log's end, and recovery might take the gap between two
segments for a loss. (Kafka keeps only the last batch of a round.)
Tombstones, and markers of transactions without data, get a delete horizon when they are first met
in the clean part, and go when it has passed.

The generators here yield a `Step` after each millisecond or so of work. Longer work (fsync, packing
a big batch) is part of a step, for a thread to run. Source: Kafka's Cleaner (LogCleaner),
MemoryRecords.filterTo; KIP-58, KIP-534.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.cleaned_transactions import CleanedTransactions
from kafkalite.log.disk_wait import Step
from kafkalite.log.files import CLEANED_SUFFIX
from kafkalite.log.flushing import begin_flush
from kafkalite.log.open_files import FileSlice
from kafkalite.log.producer_entry import ProducerEntry
from kafkalite.log.reading import LogReader
from kafkalite.log.record_scan import RECORDS_OF_A_PART, ScannedRecord, scanned
from kafkalite.log.segment import LogSegment
from kafkalite.log.segment_replacement import group_by_size, replace_segments
from kafkalite.wire.compression import compress
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    RecordBatch,
    TimestampType,
    pack_batch,
    records_data,
)
from kafkalite.wire.record_format import read_record, write_record

# A batch itself counts as this many records.
_RECORDS_PER_BATCH = 2
# And so many of its bytes as another one.
_BYTES_OF_RECORD = 4096
# A larger batch is compressed in a thread.
_BIG_BATCH_BYTES = 64 << 10
# A larger one is read, looked at and packed in a thread.
LARGE_BYTES = 1 << 20


class CleaningAborted(Exception):
    """The log was truncated, deleted or went offline while it was cleaned."""


class Compaction:
    """One round over one log. Raises CleaningAborted, KafkaError, OSError from its generators."""

    def __init__(
        self, log: LogReader, first_dirty_offset: int, first_uncleanable_offset: int, max_keys: int
    ) -> None:
        self._log = log
        self._first_dirty_offset = first_dirty_offset
        self._first_uncleanable_offset = first_uncleanable_offset
        from kafkalite.log.offset_map import OffsetMap  # not before the first cleaning

        self._map = OffsetMap(max_keys, first_dirty_offset)
        self._now_ms = log.now_ms()
        self._transactions = CleanedTransactions()
        self._group_end = -1
        self._step_bytes = 0
        self._work = 0

    def run(self) -> Generator[Step, None, int]:
        """The whole round, step by step; returns the end of the log's clean part."""
        log = self._log
        log.cleaning = self
        try:
            yield from self._flush()
            yield from self._build_map()
            end_offset = self._map.latest_offset + 1
            segments = [segment for segment in log.segments if segment.base_offset < end_offset]
            for group in group_by_size(
                segments,
                log.config.segment_bytes,
                log.config.segment_index_bytes,
                self._first_uncleanable_offset,
            ):
                yield from self._clean_group(group)
            return end_offset
        finally:
            if log.cleaning is self:
                log.cleaning = None

    def _flush(self) -> Iterator[Step]:
        """Flush the inactive segments: newer records must be safe before the older ones go."""
        end_offset = self._log.segments.active.base_offset
        while (flush := begin_flush(self._log, end_offset)) is not None:
            try:
                yield from self._elsewhere(flush.run)
            except BaseException:
                flush.abandon()
                raise
            flush.complete()

    def _check(self) -> None:
        if self._log.cleaning is not self or self._log.offline_reason is not None:
            raise CleaningAborted(self._log.name)

    def _step(self) -> Iterator[Step]:
        self._work = 0
        size, self._step_bytes = self._step_bytes, 0
        yield Step(size)
        self._check()

    def _elsewhere(self, work: Callable[[], None]) -> Iterator[Step]:
        """Have `work` run in any thread; its OSError or KafkaError is raised here."""
        errors: list[OSError | KafkaError] = []

        def run() -> None:
            try:
                work()
            except (OSError, KafkaError) as error:
                errors.append(error)

        size, self._step_bytes = self._step_bytes, 0
        yield Step(size, run)
        self._check()
        if errors:
            raise errors[0]

    def _whole(
        self, segment: LogSegment, position: int, batch: RecordBatch
    ) -> Generator[Step, None, tuple[RecordBatch, bytes]]:
        """A batch, which is valid, and its records: a thread reads a large one."""
        if batch.size_bytes <= LARGE_BYTES:
            batch.ensure_valid()
            return batch, records_data(batch)
        found: list[tuple[RecordBatch, bytes]] = []
        with FileSlice(segment.file, position, batch.size_bytes) as held:

            def read() -> None:
                whole = RecordBatch(held.read())
                whole.ensure_valid()
                found.append((whole, records_data(whole)))

            yield from self._elsewhere(read)
        return found[0]

    def _counted(self, batch: RecordBatch) -> Iterator[Step]:
        """Others have their turn after many records, or bytes."""
        self._work += batch.record_count + _RECORDS_PER_BATCH + batch.size_bytes // _BYTES_OF_RECORD
        if self._work >= RECORDS_OF_A_PART:
            yield from self._step()

    # -- the first half: the last offset of each key

    def _build_map(self) -> Iterator[Step]:
        log = self._log
        start, end = self._first_dirty_offset, self._first_uncleanable_offset
        transactions = CleanedTransactions()
        transactions.add(log.aborted_transactions(start, end))
        dirty = [segment for segment in log.segments.since(start) if segment.base_offset < end]
        for i, segment in enumerate(dirty):
            is_full = yield from self._map_segment(segment, start, transactions)
            if is_full:
                return
            following = dirty[i + 1].base_offset if i + 1 < len(dirty) else end
            # Offsets that are missing at the segment's end count as mapped.
            self._map.latest_offset = max(self._map.latest_offset, following - 1)

    def _map_segment(
        self, segment: LogSegment, start: int, transactions: CleanedTransactions
    ) -> Generator[Step, None, bool]:
        """Note the segment's keys; True if the map is full."""
        batches = segment.batches_near(
            start, headers_only=False, must_be_whole=True, most_bytes=LARGE_BYTES
        )
        for place, batch in batches:
            self._step_bytes += batch.size_bytes
            batch, data = yield from self._whole(segment, place, batch)
            if batch.is_control:
                transactions.marker_met(batch)
            elif not transactions.batch_met(batch):
                for number, part in enumerate(scanned(batch, data)):
                    if number:
                        yield from self._step()
                    if not self._map.put(part, batch.base_offset):
                        return True
            if batch.last_offset >= start:
                self._map.latest_offset = max(self._map.latest_offset, batch.last_offset)
            yield from self._counted(batch)
        yield from self._step()
        return False

    # -- the second half: what is still valid, into new segments

    def _clean_group(self, group: list[LogSegment]) -> Iterator[Step]:
        log = self._log
        self._group_end = log.end_of(group[-1])
        cleaned = LogSegment.create(
            log.directory,
            group[0].base_offset,
            log.open_files,
            now_ms=self._now_ms,
            second_suffix=CLEANED_SUFFIX,
        )
        cleaned.ensure_file()
        self._transactions.index = cleaned.transaction_index
        try:
            producers = dict(log.producer_state.producers)
            for segment in group:
                end = log.end_of(segment)
                self._transactions.add(log.aborted_transactions(segment.base_offset, end))
                yield from self._clean_segment(segment, cleaned, producers)
                yield from self._step()
            cleaned.become_inactive()
            yield from self._sync(cleaned)
            cleaned.set_modified_ms(group[-1].modified_ms())
        except BaseException:
            cleaned.unlink()
            raise
        try:
            for wait in replace_segments(log, cleaned, group, self._check):
                yield Step(0, wait)
        except CleaningAborted:  # before anything was replaced
            cleaned.unlink()
            raise

    def _sync(self, cleaned: LogSegment) -> Iterator[Step]:
        paths = [index.path for index in cleaned.indexes if index.count]
        with FileSlice(cleaned.file, 0, 0) as held:

            def sync() -> None:
                self._log.files.sync(held.fileno())
                for path in paths:
                    self._log.files.sync_file(path)

            yield from self._elsewhere(sync)

    def _clean_segment(
        self, segment: LogSegment, cleaned: LogSegment, producers: dict[int, ProducerEntry]
    ) -> Iterator[Step]:
        for position, batch in segment.batches(must_be_whole=True, most_bytes=LARGE_BYTES):
            self._step_bytes += batch.size_bytes
            batch, records = yield from self._whole(segment, position, batch)
            result = yield from self._clean_batch(batch, records, producers)
            if result is not None:
                data, max_timestamp = result
                while len(data) > PIECE_BYTES and not cleaned.write_ahead(b"", data, PIECE_BYTES):
                    yield from self._step()
                cleaned.append(
                    b"",
                    data,
                    len(data),
                    base_offset=batch.base_offset,
                    last_offset=batch.last_offset,
                    max_timestamp=max_timestamp,
                    index_interval_bytes=self._log.config.most_unindexed_bytes,
                )
                self._step_bytes += len(data)
            yield from self._counted(batch)

    def _clean_batch(
        self, batch: RecordBatch, data: bytes, producers: dict[int, ProducerEntry]
    ) -> Generator[Step, None, tuple[bytes | memoryview, int] | None]:
        """The bytes that stay of the batch, with its largest timestamp; None if it goes."""
        horizon_ms = batch.delete_horizon_ms
        is_marker_without_data = False
        if batch.is_control:
            is_marker_without_data = self._transactions.marker_met(batch)
            discard_records = (
                is_marker_without_data and horizon_ms is not None and horizon_ms <= self._now_ms
            )
        else:
            discard_records = self._transactions.batch_met(batch)
        must_stay = (
            batch.has_producer_id and _is_last_of_producer(batch, producers)
        ) or batch.next_offset == self._map.latest_offset + 1
        kept: list[ScannedRecord] = []
        if not discard_records:
            for number, part in enumerate(scanned(batch, data)):
                if number:
                    yield from self._step()
                kept += part if batch.is_control else self._still_valid(part, batch, horizon_ms)
        if not kept:
            stays = must_stay or batch.next_offset == self._group_end
            return _emptied(batch, is_needed=must_stay) if stays else None
        has_tombstones = any(record[3] < 0 for record in kept)
        if horizon_ms is None and (has_tombstones or is_marker_without_data):
            horizon_ms = self._now_ms + self._log.config.delete_retention_ms
        elif len(kept) == batch.record_count:
            return batch.buffer, batch.max_timestamp
        return (yield from self._rebuild(batch, data, kept, horizon_ms))

    def _still_valid(
        self, records: list[ScannedRecord], batch: RecordBatch, horizon_ms: int | None
    ) -> list[ScannedRecord]:
        """The records that stay; tombstones do until their time has come."""
        keeps_tombstones = horizon_ms is None or self._now_ms < horizon_ms
        return self._map.still_valid(records, batch.base_offset, keeps_tombstones=keeps_tombstones)

    def _rebuild(
        self, batch: RecordBatch, records: bytes, kept: list[ScannedRecord], horizon_ms: int | None
    ) -> Generator[Step, None, tuple[bytes, int]]:
        """The batch with only `kept` in it, and its largest timestamp.

        A delete horizon takes the place of the base timestamp.
        """
        is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        first, largest = batch.max_timestamp, batch.max_timestamp
        if not is_stamped:
            first = batch.base_timestamp + kept[0][1]
            largest = batch.base_timestamp + max(record[1] for record in kept)
        base_timestamp = first if horizon_ms is None else horizon_ms
        data = bytearray()

        def put(some: list[ScannedRecord]) -> None:
            for *_, begin, end in some:
                if base_timestamp == batch.base_timestamp and not is_stamped:
                    data.extend(records[begin:end])
                    continue
                timestamp_delta, offset_delta, key, value, headers, _ = read_record(records, begin)
                timestamp = first if is_stamped else batch.base_timestamp + timestamp_delta
                write_record(data, timestamp - base_timestamp, offset_delta, key, value, headers)

        if len(records) > LARGE_BYTES:
            yield from self._elsewhere(partial(put, kept))
        else:
            for start in range(0, len(kept), RECORDS_OF_A_PART):
                if start:
                    yield from self._step()
                put(kept[start : start + RECORDS_OF_A_PART])
        attributes = batch.attributes & ~DELETE_HORIZON_FLAG
        if horizon_ms is not None:
            attributes |= DELETE_HORIZON_FLAG
        pack = partial(
            pack_batch,
            base_offset=batch.base_offset,
            last_offset_delta=batch.last_offset_delta,
            record_count=len(kept),
            base_timestamp=base_timestamp,
            max_timestamp=largest,
            attributes=attributes,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            partition_leader_epoch=batch.partition_leader_epoch,
        )
        rebuilt: list[bytes] = []

        def build() -> None:
            rebuilt.append(pack(compress(batch.compression, data)))

        if len(data) > (_BIG_BATCH_BYTES if batch.compression else LARGE_BYTES):
            yield from self._elsewhere(build)
        else:
            build()
        return rebuilt[0], largest


def _is_last_of_producer(batch: RecordBatch, producers: dict[int, ProducerEntry]) -> bool:
    """True if the log knows a living producer's sequence, or its epoch, only by this batch."""
    entry = producers.get(batch.producer_id)
    if entry is None:
        return False
    if entry.last_offset >= 0:
        return batch.last_offset == entry.last_offset
    return batch.is_control and batch.producer_epoch == entry.producer_epoch


def _emptied(batch: RecordBatch, *, is_needed: bool) -> tuple[bytes, int]:
    """A batch that only ends a segment keeps its offsets, and belongs to no transaction."""
    rest = {"max_timestamp": NO_TIMESTAMP}
    if is_needed:
        rest = {
            "max_timestamp": batch.max_timestamp,
            "attributes": batch.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_FLAG),
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "base_sequence": batch.base_sequence,
        }
    data = pack_batch(
        b"",
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset_delta,
        record_count=0,
        base_timestamp=NO_TIMESTAMP,
        partition_leader_epoch=batch.partition_leader_epoch,
        **rest,
    )
    return data, rest["max_timestamp"]
