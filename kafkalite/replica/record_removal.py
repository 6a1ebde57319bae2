"""Records taken out of a log, as retention and compaction take them: for tests.

In the middle, offsets, batches' ends and all other records stay, as after any compaction; what
reads the log meets a gap. The batch at a segment's end stays even when it is emptied, so that
consumers can go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkalite.log.compaction import Compaction
from kafkalite.log.disk_wait import Step, run_steps
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.log.log import Log
    from kafkalite.log.record_scan import ScannedRecord
    from kafkalite.replica.partition import Partition
    from kafkalite.wire.record_batch import RecordBatch


def lose_records(partition: Partition, to_offset: int) -> None:
    """Lose the records before an offset (-1: all), as retention loses what is too old.

    Raises KafkaError when the offset is above the high watermark.
    """
    offset = partition.high_watermark if to_offset == -1 else to_offset
    partition.log.delete_records_before(offset)
    partition.log.retain()
    partition.watchers.check_and_complete()


def remove_records(log: Log, first_offset: int, end_offset: int) -> None:
    """Remove the records from `first_offset` up to, not including, `end_offset`.

    Raises:
        KafkaError: OFFSET_OUT_OF_RANGE, the log has (decided) records only in part of the range;
            KAFKA_STORAGE_ERROR.
        OSError: the disk is at fault; the log is as it was.
    """
    log.check_online()
    if not log.log_start_offset <= first_offset < end_offset <= log.last_stable_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"no records [{first_offset}, {end_offset}) to remove from {log.name}: it has "
            f"[{log.log_start_offset}, {log.last_stable_offset})",
        )
    if end_offset > log.segments.active.base_offset:
        log.roll()
    log.cleaning = None  # a round that is under way stops
    run_steps(_Removal(log, first_offset, end_offset).run())


class _Removal(Compaction):
    """A round of compaction that goes by offsets, not by keys."""

    def __init__(self, log: Log, first_offset: int, end_offset: int) -> None:
        super().__init__(log, first_offset, log.segments.active.base_offset, max_keys=1)
        self._range = range(first_offset, end_offset)

    def _build_map(self) -> Iterator[Step]:
        # Segments before this offset are gone through.
        self._map.latest_offset = self._range.stop - 1
        return iter(())

    def _still_valid(
        self, records: list[ScannedRecord], batch: RecordBatch, horizon_ms: int | None
    ) -> list[ScannedRecord]:
        return [each for each in records if batch.base_offset + each[0] not in self._range]
