"""The metadata log: `__cluster_metadata-0`, a log like any other, of Kafka's metadata records.

One `append` is one batch, so that after a crash a change is there as a whole or not at all: the
log's own recovery cuts a batch that was not written to its end. Each start of the cluster is a new
leader epoch, opened by a LeaderChange control batch as in KRaft (KIP-595).

Now and then all that there is becomes a snapshot (snapshot.py); what came before the one before
last may go then. A start reads the newest snapshot, and the log from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kafkalite.cluster.record_codec import decode_record, encode_record
from kafkalite.cluster.snapshot import (
    SnapshotId,
    last_contained_ms,
    read_snapshot,
    remove_unfinished,
    snapshots_in,
    write_snapshot,
)
from kafkalite.log.disk_wait import DiskWait
from kafkalite.log.log import AppendOrigin
from kafkalite.log.loggers import logger_of
from kafkalite.requests.slices import Steps, WaitingSteps
from kafkalite.wire.control_records import CONTROL_KEY, ControlRecordType
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.message_codec import build_body, join
from kafkalite.wire.messages.stored.leader_change_message import LeaderChangeMessage, Voter
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    build_batch,
    iterate_batches,
    iterate_records,
    pack_batch,
)
from kafkalite.wire.record_format import write_record

if TYPE_CHECKING:
    from kafkalite.log.flushing import Flush
    from kafkalite.log.log import Log
    from kafkalite.log.open_files import FileSlice

logger = logger_of(__name__)


# Source: Kafka's BootstrapDirectory.
_FORMATTED_WITH: Final = "bootstrap.checkpoint"
_ENCODED_AT_ONCE: Final = 64
_READ_BYTES: Final = 4 * 1024 * 1024


class MetadataLogConfig(Struct, frozen=True):
    """Limits for snapshots and old segments, named as the broker's configs (KIP-630)."""

    metadata_log_max_record_bytes_between_snapshots: int = 20_971_520
    metadata_log_max_snapshot_interval_ms: int = 3_600_000
    metadata_max_retention_bytes: int = 104_857_600
    metadata_max_retention_ms: int = 604_800_000


_DEFAULTS: Final = MetadataLogConfig()


class MetadataLog:
    """Records in, records out. `leader_epoch` is 0 before the first start."""

    def __init__(
        self,
        log: Log,
        now_ms: Callable[[], int],
        config: MetadataLogConfig = _DEFAULTS,
    ) -> None:
        """Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self._log = log
        self._now_ms = now_ms
        self._config = config
        self._bytes_since_snapshot = 0
        self._last_snapshot_ms = now_ms()
        # The bytes that the snapshot begun last will stand for, and its time.
        self._begun = (0, self._last_snapshot_ms)
        self._has_ended = False
        self._last_record_ms = -1
        self.leader_epoch = 0
        try:
            remove_unfinished(log.directory, log.files)
            self.snapshots = snapshots_in(log.directory, log.files)
        except OSError as error:
            raise log.storage_error(error) from error

    @property
    def next_offset(self) -> int:
        """The offset of the next record written."""
        return self._log.log_end_offset

    def replay(self) -> Iterator[tuple[int, object]]:
        """All records, each with the offset up to which it tells: of the newest snapshot, then of
        the log. Raises KafkaError(CORRUPT_MESSAGE) when a part of what there was is missing.
        """
        offset = 0
        for snapshot in reversed(self.snapshots):
            records = self._read_snapshot(snapshot)
            if records is not None:
                offset = snapshot.end_offset
                yield from ((offset - 1, record) for record in records)
                break
        if not self._log.log_start_offset <= offset <= self._log.log_end_offset:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"{self._log.directory}: the snapshots end at {offset}, and do not meet the log, "
                f"from {self._log.log_start_offset} to {self._log.log_end_offset}",
            )
        yield from self._replay_log(offset)

    def formatted_with(self) -> list[object]:
        """The first records of a new cluster that `kafka-storage format` left beside the log, such
        as levels of features and SCRAM credentials; none if it was not formatted so.

        Raises KafkaError(CORRUPT_MESSAGE), KafkaError(KAFKA_STORAGE_ERROR).
        """
        path = self._log.directory.parent / _FORMATTED_WITH
        try:
            return read_snapshot(path)[0]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._log.storage_error(error) from error

    def _replay_log(self, offset: int) -> Iterator[tuple[int, object]]:
        for batch in self._batches(offset):
            self.leader_epoch = max(self.leader_epoch, batch.partition_leader_epoch)
            self._bytes_since_snapshot += batch.size_bytes
            if batch.is_control:
                continue
            self._last_record_ms = batch.max_timestamp
            for record in iterate_records(batch):
                if record.value is not None and record.offset >= offset:
                    yield record.offset, decode_record(record.value)

    def _read_snapshot(self, snapshot: SnapshotId) -> list[object] | None:
        """Its records; None when it cannot be used: an earlier one may do."""
        path = snapshot.path(self._log.directory)
        try:
            records, self._last_record_ms = read_snapshot(path)
        except (KafkaError, OSError) as error:
            logger.error("%s: the snapshot cannot be used: %s", path, error)
            return None
        self.leader_epoch = max(self.leader_epoch, snapshot.epoch)
        return records

    def _batches(self, offset: int) -> Iterator[RecordBatch]:
        end = self._log.log_end_offset
        while offset < end:
            read = self._log.read(offset, _READ_BYTES, upper_bound=end)
            for batch in iterate_batches(_in_memory(read.records)):
                yield batch
                offset = batch.next_offset

    def become_leader(self, leader_id: int, voters: Sequence[int]) -> None:
        """Begin a new leader epoch."""
        self.leader_epoch += 1
        message = LeaderChangeMessage(
            version=0,
            leader_id=leader_id,
            voters=[Voter(voter_id=voter) for voter in voters],
            granting_voters=[Voter(voter_id=leader_id)],
        )
        record = Record(
            timestamp=self._now_ms(),
            key=CONTROL_KEY.pack(0, ControlRecordType.LEADER_CHANGE),
            value=join(build_body(message, 0)),
        )
        self._append(
            build_batch([record], partition_leader_epoch=self.leader_epoch, is_control=True)
        )

    def encoded(self, records: Sequence[object]) -> Steps[bytes]:
        """One batch of records, for `append`."""
        now_ms = self._now_ms()
        data = bytearray()
        for index, record in enumerate(records):
            if index % _ENCODED_AT_ONCE == 0:
                yield
            write_record(data, 0, index, None, encode_record(record), ())
        return pack_batch(
            bytes(data),
            base_offset=0,
            last_offset_delta=len(records) - 1,
            record_count=len(records),
            base_timestamp=now_ms,
            max_timestamp=now_ms,
            partition_leader_epoch=self.leader_epoch,
        )

    def end(self) -> None:
        """Take no more changes, from whomever: the directory is another broker's now."""
        self._has_ended = True

    def append(self, batch: bytes) -> int:
        """Write a batch; its last offset. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        if self._has_ended:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the broker has ended")
        self._last_record_ms = self._now_ms()
        return self._append(batch)

    def cut_at(self, offset: int) -> None:
        """Remove a change that failed: what begins at `offset`. A log that is offline keeps it, as
        there are no later changes that could contradict it."""
        with suppress(KafkaError):
            self._log.truncate_to(offset)

    @property
    def is_offline(self) -> bool:
        """True if its disk has failed: nothing can be written any more."""
        return self._log.offline_reason is not None

    def flush(self) -> None:
        """Everything onto the disk. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self._log.flush()

    def begin_flush(self) -> Flush | None:
        """The same in three steps; None if all is on the disk. Raises as `flush`."""
        return self._log.begin_flush()

    def _append(self, batch: bytes) -> int:
        info = self._log.append(
            batch, leader_epoch=self.leader_epoch, origin=AppendOrigin.COORDINATOR
        )
        self._bytes_since_snapshot += len(batch)
        return info.last_offset

    # Snapshots

    @property
    def is_snapshot_due(self) -> bool:
        """True if there is much, or for long something, that no snapshot has."""
        config = self._config
        if self._bytes_since_snapshot >= config.metadata_log_max_record_bytes_between_snapshots:
            return True
        interval_ms = config.metadata_log_max_snapshot_interval_ms
        age_ms = self._now_ms() - self._last_snapshot_ms
        return 0 < interval_ms <= age_ms and self._bytes_since_snapshot > 0

    def begin_snapshot(self, records: list[object], end_offset: int) -> Callable[[], int]:
        """Write what `records` add up to, which is the log before `end_offset`.

        What is returned does the writing and empties `records`, as to free many takes time. It
        may run in a thread, and raises OSError: the snapshot is still due then.
        `complete_snapshot` is to follow.
        """
        snapshot = SnapshotId(end_offset, self.leader_epoch)
        self._begun = self._bytes_since_snapshot, self._now_ms()
        log, last_ms = self._log, self._last_record_ms

        def write() -> int:
            try:
                return write_snapshot(log.directory, log.files, snapshot, records, last_ms)
            finally:
                records.clear()

        return write

    def complete_snapshot(self) -> WaitingSteps[None]:
        """Count the new snapshot in; let go of what retention does not ask to keep.

        As in Kafka the newest snapshot stays, and the log from the one before it on. Raises
        KafkaError, OSError.
        """
        log = self._log
        size, self._last_snapshot_ms = self._begun
        self._bytes_since_snapshot -= size
        self.snapshots = snapshots_in(log.directory, log.files)
        while len(self.snapshots) > 1 and self._is_too_much():
            oldest, following = self.snapshots[:2]
            log.advance_high_watermark(log.log_end_offset)
            log.delete_records_before(min(following.end_offset, log.log_end_offset))
            yield from log.retaining(takes_active=True)
            wait = DiskWait(partial(log.files.unlink, oldest.path(log.directory)))
            yield wait
            wait.finish()
            logger.info("metadata before offset %d is deleted", following.end_offset)
            del self.snapshots[0]

    def _is_too_much(self) -> bool:
        log, config = self._log, self._config
        paths = [snapshot.path(log.directory) for snapshot in self.snapshots]
        most = config.metadata_max_retention_bytes
        if 0 <= most < log.size_bytes + sum(log.files.size(path) for path in paths):
            return True
        longest_ms = config.metadata_max_retention_ms
        return 0 <= longest_ms < self._now_ms() - last_contained_ms(paths[0])


def _in_memory(records: FileSlice | bytes) -> bytes:
    if isinstance(records, bytes):
        return records
    try:
        return records.read()
    finally:
        records.close()
