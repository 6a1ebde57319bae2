"""Snapshots of the producers: their bytes, when they are written, when they are on the disk."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_entry import ProducerEntry
from kafkalite.log.producer_snapshots import CorruptSnapshot, decode_snapshot, encode_snapshot
from tests.log.producing import Producer


def test_snapshots_are_written_with_each_roll_and_used(disk: Any) -> None:
    config = LogConfig(segment_bytes=150)
    producer = Producer(disk, disk.log(config=config))
    for sequence in range(4):
        producer.append(sequence)
    snapshots = [name for name in disk.names() if name.endswith(".snapshot")]
    assert snapshots == [f"{offset:020d}.snapshot" for offset in (2,)]
    producer.log.close()
    assert f"{4:020d}.snapshot" in disk.names()
    # A damaged one is skipped: the older, and the batches behind it, say the same.
    (disk.root / "topic-0" / f"{4:020d}.snapshot").write_bytes(b"\0\1garbage")
    producer.log = disk.log(config=config, clean_shutdown=True)
    assert producer.append(3).is_duplicate


class SyncedFiles(Files):
    """Notes what is on the disk when a segment goes."""

    def __init__(self) -> None:
        self.synced: set[str] = set()
        self.synced_at_deletion: set[str] | None = None

    def sync_file(self, path: Path) -> None:
        super().sync_file(path)
        if path.exists():
            self.synced.add(path.name)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if target.name.endswith(".deleted") and self.synced_at_deletion is None:
            self.synced_at_deletion = set(self.synced)


def test_producers_are_on_the_disk_before_their_records_go(disk: Any) -> None:
    files = SyncedFiles()
    disk.open_files = OpenFiles(files=files)
    config = LogConfig(segment_bytes=150, file_delete_delay_ms=0)
    producer = Producer(disk, disk.log(config=config))
    for sequence in range(5):
        producer.append(sequence)
    flush = producer.log.begin_flush(4)
    assert flush is not None
    flush.run()
    assert f"{2:020d}.snapshot" in files.synced
    flush.complete()
    disk.now_ms += config.retention_ms + 1
    assert producer.log.retain() == 3
    assert files.synced_at_deletion is not None
    assert f"{5:020d}.snapshot" in files.synced_at_deletion


def test_a_snapshots_bytes() -> None:
    entry = ProducerEntry(7, 2, 5, 1234, 99)
    data = encode_snapshot([entry])
    assert len(data) == 2 + 4 + 4 + 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
    [back] = decode_snapshot(data)
    assert (back.producer_id, back.producer_epoch, back.coordinator_epoch) == (7, 2, 5)
    assert (back.last_timestamp, back.transaction_first_offset, back.last_sequence) == (
        1234,
        99,
        -1,
    )
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(bytes(changed))
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(b"")
