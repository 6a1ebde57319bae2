"""A snapshot of the metadata: one file with records that add up to an image (KIP-630).

    <end offset, 20 digits>-<epoch, 10 digits>.checkpoint

holds everything before `end offset`, the last of it written in `epoch`: a control batch with a
SnapshotHeaderRecord, batches of metadata records, a control batch with a SnapshotFooterRecord;
offsets begin at 0. A file without its footer was not finished. While it is written its name ends in
`.part`, and it is renamed once it is on the disk. Source: Kafka's RecordsSnapshotWriter, Snapshots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalite.cluster.record_codec import decode_record, encode_record
from kafkalite.log.files import write_all
from kafkalite.wire.control_records import CONTROL_KEY, ControlRecordType, control_record_type
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored import decode, encode
from kafkalite.wire.messages.stored.snapshot_footer_record import SnapshotFooterRecord
from kafkalite.wire.messages.stored.snapshot_header_record import SnapshotHeaderRecord
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

if TYPE_CHECKING:
    from kafkalite.log.files import Files

_SUFFIX: Final = ".checkpoint"
_PART_SUFFIX: Final = ".checkpoint.part"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")

# So that no batch is too large for a reader, however many topics there are.
_RECORDS_PER_BATCH: Final = 1000
# More than the first batch, the header, needs; a batch that is cut off is not given out.
_HEADER_BYTES: Final = 4096


class SnapshotId(NamedTuple):
    """The extent of a snapshot: everything before `end_offset`. `epoch` is that of the last
    record."""

    end_offset: int
    epoch: int

    def path(self, directory: Path, suffix: str = _SUFFIX) -> Path:
        """The file's path."""
        return directory / f"{self.end_offset:020d}-{self.epoch:010d}{suffix}"


def snapshots_in(directory: Path, files: Files) -> list[SnapshotId]:
    """The snapshots in a directory, the oldest first. Raises OSError."""
    names = (_NAME.fullmatch(name) for name in files.names(directory))
    return sorted(SnapshotId(int(name[1]), int(name[2])) for name in names if name)


def remove_unfinished(directory: Path, files: Files) -> None:
    """Remove what a crash left half written. Raises OSError."""
    for name in files.names(directory):
        if name.endswith(_PART_SUFFIX):
            files.unlink(directory / name)


def write_snapshot(
    directory: Path, files: Files, snapshot: SnapshotId, records: Sequence[object], last_ms: int
) -> int:
    """Write it and have it on the disk; its size in bytes. Raises OSError; may run in a thread.

    `last_ms` is the time of the last record that it contains.
    """
    part = snapshot.path(directory, _PART_SUFFIX)
    descriptor = files.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    size = 0
    try:
        for batch in _batches(snapshot.epoch, records, last_ms):
            write_all(files, descriptor, batch, size)
            size += len(batch)
        files.sync(descriptor)
    finally:
        files.close(descriptor)
    files.rename(part, snapshot.path(directory))
    files.sync_directory(directory)
    return size


def _batches(epoch: int, records: Sequence[object], last_ms: int) -> Iterator[bytes]:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_ms)
    yield _control(ControlRecordType.SNAPSHOT_HEADER, encode(header), 0, epoch, last_ms)
    for first in range(0, len(records), _RECORDS_PER_BATCH):
        yield build_batch(
            [
                Record(timestamp=last_ms, value=encode_record(record))
                for record in records[first : first + _RECORDS_PER_BATCH]
            ],
            base_offset=1 + first,
            partition_leader_epoch=epoch,
        )
    footer = encode(SnapshotFooterRecord(version=0))
    yield _control(ControlRecordType.SNAPSHOT_FOOTER, footer, 1 + len(records), epoch, last_ms)


def _control(
    kind: ControlRecordType, value: bytes, base_offset: int, epoch: int, timestamp: int
) -> bytes:
    record = Record(timestamp=timestamp, key=CONTROL_KEY.pack(0, kind), value=value)
    return build_batch(
        [record], base_offset=base_offset, partition_leader_epoch=epoch, is_control=True
    )


def last_contained_ms(path: Path) -> int:
    """The time of the last record that a snapshot contains. Raises OSError, KafkaError."""
    with path.open("rb") as file:
        for batch in iterate_batches(file.read(_HEADER_BYTES)):
            for record in iterate_records(batch):
                return decode(
                    SnapshotHeaderRecord, record.value or b""
                ).last_contained_log_timestamp
    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{path}: the snapshot is empty")


def read_snapshot(path: Path) -> tuple[list[object], int]:
    """Its records, and the time of the last that it contains. Raises OSError.

    Raises KafkaError(CORRUPT_MESSAGE) for a file that is not whole.
    """
    records: list[object] = []
    last_ms: int | None = None
    is_whole = False
    for batch in iterate_batches(path.read_bytes()):
        batch.ensure_valid()
        for record in iterate_records(batch):
            if not batch.is_control:
                records.append(decode_record(record.value or b""))
                continue
            kind = control_record_type(record)
            if kind is ControlRecordType.SNAPSHOT_HEADER:
                header = decode(SnapshotHeaderRecord, record.value or b"")
                last_ms = header.last_contained_log_timestamp
            is_whole = kind is ControlRecordType.SNAPSHOT_FOOTER
    if last_ms is None or not is_whole:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{path}: the snapshot is not whole")
    return records, last_ms
