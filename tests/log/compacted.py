"""Logs to compact: records by key, transactions, one round of compaction."""

from collections.abc import Callable
from typing import Any

from kafkalite.log.cleaner import cleanable_part
from kafkalite.log.compaction import Compaction
from kafkalite.log.config import LogConfig
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, RecordBatch, build_batch, iterate_batches

DAY_MS = 86_400_000
COMPACT = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=400,
    index_interval_bytes=60,
    min_cleanable_dirty_ratio=0.01,
    delete_retention_ms=DAY_MS,
)


def put(disk: Any, log: Log, *pairs: tuple[bytes, bytes | None], **fields: Any) -> int:
    timestamp = fields.pop("timestamp", disk.now_ms)
    records = [Record(timestamp=timestamp, key=key, value=value) for key, value in pairs]
    info = log.append(build_batch(records, **fields), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
    return info.base_offset


def end(disk: Any, log: Log, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
    marker = build_end_transaction_marker(
        producer_id=producer_id,
        producer_epoch=epoch,
        commit=commit,
        coordinator_epoch=0,
        timestamp=disk.now_ms,
    )
    log.append(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(log.log_end_offset)


def clean(
    log: Log,
    up_to: int = 0,
    max_keys: int = 1000,
    in_thread: Callable[[Callable[[], None]], None] = lambda work: work(),
) -> int:
    part = cleanable_part(log, up_to)
    run = Compaction(log, part.first_dirty_offset, part.first_uncleanable_offset, max_keys).run()
    while True:
        try:
            step = next(run)
        except StopIteration as stop:
            return stop.value
        if step.work is not None:
            in_thread(step.work)


def kept(records: Any, log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records(log)]


def batches(log: Log) -> list[RecordBatch]:
    found: list[RecordBatch] = []
    for segment in log.segments:
        if segment.size:
            found += list(iterate_batches(segment.file.pread(segment.size, 0)))
    return found
