"""The short way of appending is equal to the declared one, and is taken where it is meant to be."""

import errno
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.plain_append import NOT_PLAIN, append_plain
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import CRC_POSITION, Record, build_batch
from tests.log.conftest import START_MS, Disk

SMALL = LogConfig(
    segment_bytes=2000, index_interval_bytes=150, max_message_bytes=900, segment_ms=60_000
)
CONFIGS = st.sampled_from(
    [
        LogConfig(),
        SMALL,
        replace(SMALL, segment_index_bytes=24),
        replace(SMALL, message_timestamp_after_max_ms=1000),
        replace(SMALL, message_timestamp_before_max_ms=1000),
        replace(SMALL, message_timestamp_type="LogAppendTime"),
        replace(SMALL, compression_type="gzip"),
        replace(SMALL, cleanup_policy=("compact",)),
        replace(SMALL, flush_messages=2),
    ]
)
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(START_MS - 5000, START_MS + 5000),
        key=st.none() | st.binary(max_size=5),
        value=st.none() | st.binary(max_size=300),
    ),
    min_size=1,
    max_size=4,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "compression": st.sampled_from(Compression),
        "base_offset": st.sampled_from([0, 0, 0, 1]),
    },
)
# An idempotent producer's id and epoch, and how far its sequence is from the next one's.
PRODUCERS = st.none() | st.tuples(
    st.integers(0, 1), st.sampled_from([0, 0, 0, 1]), st.sampled_from([0, 0, 0, 0, 1, -1, -3])
)
# Nothing, or a byte of the header (or behind it) changed, with the checksum made good or not.
CHANGES = st.none() | st.tuples(st.integers(8, 75), st.integers(0, 255), st.booleans())
STEPS = st.lists(
    st.tuples(
        *(RECORDS, FIELDS, PRODUCERS, CHANGES),
        *(st.sampled_from([0, 0, 0, 1]), st.integers(0, 40_000), st.booleans()),
    ),
    min_size=1,
    max_size=12,
)


def changed(batch: bytes, change: tuple[int, int, bool] | None) -> bytes:
    if change is None or change[0] >= len(batch):
        return batch
    position, value, redo_crc = change
    data = bytearray(batch)
    data[position] = value
    if redo_crc:
        data[CRC_POSITION : CRC_POSITION + 4] = crc32c(data[21:]).to_bytes(4)
    return bytes(data)


def sequence_fields(log: Log, producer: tuple[int, int, int] | None) -> dict[str, int]:
    if producer is None:
        return {}
    producer_id, epoch, from_next = producer
    entry = log.producer_state.producers.get(producer_id)
    following = 0 if entry is None or entry.producer_epoch != epoch else entry.last_sequence + 1
    return {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "base_sequence": max(0, following + from_next),
    }


def producers(log: Log) -> dict[int, Any]:
    return {
        producer_id: (entry.producer_epoch, entry.last_timestamp, list(entry.batches))
        for producer_id, entry in log.producer_state.producers.items()
    }


def appended(log: Log, records: bytes, epoch: int) -> Any:
    try:
        return log.append(records, leader_epoch=epoch).base_offset
    except KafkaError as error:
        return error.code, error.message.replace(log.name, "")


def content(log: Log) -> dict[str, bytes]:
    for segment in log.segments:
        segment.write_indexes()
    return {path.name: path.read_bytes() for path in sorted(log.directory.iterdir())}


class PromptFiles(Files):
    """Waits for no disk: what is on it after a crash is not the question here."""

    def sync(self, descriptor: int) -> None:
        return

    def sync_directory(self, path: Path) -> None:
        return


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(CONFIGS, STEPS)
def test_it_is_equal_to_append(config: LogConfig, steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), open_files=OpenFiles(files=PromptFiles()))
        short, declared = disk.log("short-0", config), disk.log("declared-0", config)
        epoch = 0
        for records, fields, producer, change, epochs, milliseconds, as_view in steps:
            epoch += epochs
            disk.now_ms += milliseconds
            sequenced = fields | sequence_fields(declared, producer)
            batch = changed(build_batch(records, **sequenced), change)
            before = short.log_end_offset
            answer: Any = append_plain(short, memoryview(batch) if as_view else batch, epoch)
            if answer == NOT_PLAIN:
                assert short.log_end_offset == before
                answer = appended(short, batch, epoch)
            assert answer == appended(declared, batch, epoch)
            assert short.log_end_offset == declared.log_end_offset
            assert short.producer_state.end_offset == declared.producer_state.end_offset
            assert producers(short) == producers(declared)
        assert content(short) == content(declared)
        short.close()
        declared.close()


def test_it_is_taken_by_all_but_a_segment_s_or_an_epoch_s_first(disk: Disk) -> None:
    log = disk.log()
    batch = disk.batch(b"value")
    assert append_plain(log, batch, 0) == NOT_PLAIN  # the epoch begins
    disk.append(log, b"value")
    assert [append_plain(log, batch, 0) for _ in range(1000)] == list(range(1, 1001))
    assert append_plain(log, batch, 1) == NOT_PLAIN
    log.close()


def test_an_idempotent_producer_s_next_batch_is_plain(disk: Disk) -> None:
    log = disk.log()

    def batch(sequence: int, epoch: int = 0) -> bytes:
        fields = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}
        return disk.batch(b"one", b"two", **fields)

    log.append(batch(0), leader_epoch=0)
    assert append_plain(log, batch(2), 0) == 2
    for other in (batch(2), batch(6), batch(3), batch(0, epoch=1), batch(4, epoch=1)):
        assert append_plain(log, other, 0) == NOT_PLAIN
    assert append_plain(log, batch(4), 0) == 4
    assert log.append(batch(2), leader_epoch=0).is_duplicate
    log.close()


@pytest.mark.parametrize("codec", Compression)
def test_compressed_batches_are_plain(disk: Disk, codec: Compression) -> None:
    log = disk.log()
    disk.append(log, b"value")
    assert append_plain(log, disk.batch(b"value" * 10, compression=codec), 0) == 1
    log.close()


class FullFiles(Files):
    """A disk that may be full."""

    is_full = False

    def pwritev(self, *arguments: Any) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwritev(*arguments)


def test_a_disk_that_is_full_is_said_and_nothing_has_changed(tmp_path: Path) -> None:
    files = FullFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    log = disk.log()
    batch = disk.batch(b"value")
    disk.append(log, b"value")
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        append_plain(log, batch, 0)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.is_full = False
    assert append_plain(log, batch, 0) == 1
    log.close()


def test_a_log_that_is_offline_is_left_to_append(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"value")
    log.offline_reason = "the disk is broken"
    assert append_plain(log, disk.batch(b"value"), 0) == NOT_PLAIN
    log.offline_reason = None
    log.close()
