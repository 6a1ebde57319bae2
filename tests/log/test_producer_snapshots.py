"""Snapshots of the producers: their bytes, when they are written, when they are on the disk."""

from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import FILES, Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_entry import ProducerEntry
from kafkalite.log.producer_snapshots import (
    CorruptSnapshot,
    ProducerSnapshots,
    decode_snapshot,
    encode_snapshot,
)
from kafkalite.log.producer_state import ProducerState
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


def taken(tmp_path: Path, *offsets: int) -> ProducerSnapshots:
    """Snapshots at these offsets; each has one producer, whose id is the offset."""
    snapshots = ProducerSnapshots(tmp_path, FILES)
    for offset in offsets:
        state = ProducerState("t-0")
        state.load([ProducerEntry(offset)])
        state.end_offset = offset
        snapshots.take(state)
    return snapshots


def on_disk(tmp_path: Path) -> list[int]:
    return sorted(int(path.stem) for path in tmp_path.glob("*.snapshot"))


def test_a_snapshot_is_taken_once_and_none_at_the_start(tmp_path: Path) -> None:
    snapshots = taken(tmp_path, 0, 5, 5, 3, 9)
    assert snapshots.offsets == on_disk(tmp_path) == [5, 9]
    assert snapshots.latest == 9
    assert ProducerSnapshots(tmp_path, FILES).latest == -1


def test_the_names_of_a_directory_tell_the_snapshots(tmp_path: Path) -> None:
    names = [f"{20:020d}.snapshot", f"{3:020d}.snapshot", f"{7:020d}.snapshot.deleted"]
    names += [f"{9:020d}.log", "leader-epoch-checkpoint"]
    assert ProducerSnapshots(tmp_path, FILES, names).offsets == [3, 20]


def test_the_latest_that_can_be_read_is_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = taken(tmp_path, 5, 9, 12)
    snapshots.path(12).write_bytes(snapshots.path(12).read_bytes()[:-1])
    snapshots.path(9).unlink()
    state = ProducerState("t-0")
    snapshots.load_latest(state, first_offset=2)
    assert (list(state.producers), state.end_offset) == ([5], 5)
    assert snapshots.offsets == on_disk(tmp_path) == [5]
    assert [each.levelname for each in caplog.records] == ["WARNING"] * 2


def test_without_any_the_state_begins_with_the_log(tmp_path: Path) -> None:
    state = ProducerState("t-0")
    ProducerSnapshots(tmp_path, FILES).load_latest(state, first_offset=2)
    assert (state.producers, state.end_offset) == ({}, 2)


def test_an_open_transaction_is_loaded(tmp_path: Path) -> None:
    snapshots = ProducerSnapshots(tmp_path, FILES)
    state = ProducerState("t-0")
    state.load(
        ProducerEntry(producer_id, 0, transaction_first_offset=first_offset)
        for producer_id, first_offset in ((1, 30), (2, 10), (3, None))
    )
    state.end_offset = 40
    snapshots.take(state)
    loaded = ProducerState("t-0")
    snapshots.load_latest(loaded, first_offset=0)
    assert loaded.first_unstable_offset == 10
    assert loaded.has_ongoing_transaction(1, 0)
    assert not loaded.has_ongoing_transaction(3, 0)


def test_very_many_open_transactions_are_loaded_at_once(tmp_path: Path) -> None:
    """They were sorted anew for each of them: 6,000 took more than a second."""
    snapshots = ProducerSnapshots(tmp_path, FILES)
    state = ProducerState("t-0")
    state.load(ProducerEntry(n, 0, transaction_first_offset=9_000 - n) for n in range(6_000))
    state.end_offset = 10_000
    snapshots.take(state)
    loaded = ProducerState("t-0")
    began = thread_time()
    snapshots.load_latest(loaded, first_offset=0)
    assert thread_time() - began < 0.3
    assert loaded.first_unstable_offset == 3_001


def test_snapshots_are_removed_behind_the_end_or_all(tmp_path: Path) -> None:
    snapshots = taken(tmp_path, 5, 9, 12)
    snapshots.remove_behind(9)
    assert snapshots.offsets == on_disk(tmp_path) == [5, 9]
    snapshots.remove_at(7)
    snapshots.remove_at(5)
    assert snapshots.offsets == on_disk(tmp_path) == [9]
    snapshots.remove_all()
    assert snapshots.offsets == on_disk(tmp_path) == []


@pytest.mark.parametrize(
    ("base_offsets", "left"),
    [
        ([0, 5, 9], [5, 9, 12]),  # the latest is a clean shutdown's
        ([0, 9], [9, 12]),
        ([0, 5, 9, 12], [5, 9, 12]),
        ([0, 5, 20], [5]),  # a shutdown's before the last roll
        ([], [12]),
    ],
)
def test_strays_are_removed(tmp_path: Path, base_offsets: list[int], left: list[int]) -> None:
    snapshots = taken(tmp_path, 5, 9, 12)
    snapshots.remove_strays(base_offsets)
    assert snapshots.offsets == on_disk(tmp_path) == left


def test_snapshots_move_with_their_log(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    snapshots = taken(tmp_path / "old", 5)
    (tmp_path / "old").rename(tmp_path / "new")
    snapshots.moved_to(tmp_path / "new")
    state = ProducerState("t-0")
    snapshots.load_latest(state, first_offset=0)
    assert list(state.producers) == [5]
