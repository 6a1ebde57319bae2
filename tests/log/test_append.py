"""`Log.append` and `append_trusted`: what a header lets through is what validation lets through."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.trusted_records import Pair
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import CRC_POSITION, Record, build_batch
from tests.log.conftest import START_MS, Disk
from tests.log.faults import FullFiles, PromptFiles

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


def always_validated(config: LogConfig) -> LogConfig:
    """The same config for a log that lets validation look at every batch."""
    config = replace(config)
    object.__setattr__(config, "keeps_batches", False)
    return config


def as_seen(log: Log, answer: Any) -> Any:
    state = log.producer_state
    return answer, log.log_end_offset, log.recovery_point, state.end_offset, producers(log)


@settings(deadline=None, max_examples=150)
@given(CONFIGS, STEPS)
def test_the_header_lets_through_what_validation_does(config: LogConfig, steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), open_files=OpenFiles(files=PromptFiles()))
        log = disk.log("one-0", config)
        validated = disk.log("other-0", always_validated(config))
        epoch = 0
        for records, fields, producer, change, epochs, milliseconds, as_view in steps:
            epoch += epochs
            disk.now_ms += milliseconds
            sequenced = fields | sequence_fields(validated, producer)
            batch: Any = changed(build_batch(records, **sequenced), change)
            answer = as_seen(log, appended(log, memoryview(batch) if as_view else batch, epoch))
            assert answer == as_seen(validated, appended(validated, batch, epoch))
        assert content(log) == content(validated)
        log.close()
        validated.close()


def test_a_plain_batch_is_not_validated_again(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate(*_: Any, **__: Any) -> None:
        raise AssertionError("its header was enough")

    monkeypatch.setattr("kafkalite.log.log.validate", validate)
    log = disk.log()
    for i, codec in enumerate(Compression):
        assert disk.append(log, b"value" * 10, compression=codec, leader_epoch=i) == i
    log.close()


def test_a_producer_s_next_batch_is_told_from_a_retry(disk: Disk) -> None:
    log = disk.log()

    def append(sequence: int, epoch: int = 0) -> Any:
        fields = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}
        info = log.append(disk.batch(b"one", b"two", **fields), leader_epoch=0)
        return info.base_offset, info.is_duplicate

    assert [append(0), append(2), append(2), append(0)] == [
        (0, False),
        (2, False),
        (2, True),
        (0, True),
    ]
    for sequence, epoch in ((6, 0), (3, 0), (4, 1)):
        with pytest.raises(KafkaError) as caught:
            append(sequence, epoch)
        assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(4) == (4, False)
    assert append(0, epoch=1) == (6, False)
    log.close()


def batch_of(pairs: list[Pair], timestamp: int) -> bytes:
    return build_batch([Record(timestamp=timestamp, key=key, value=value) for key, value in pairs])


def answer_of(log: Log, append: Callable[[], int]) -> Any:
    try:
        answer: Any = append()
    except KafkaError as error:
        answer = error.code, str(error.message).replace(log.name, "")
    return as_seen(log, answer)


def appended_as_coordinator(log: Log, batch: bytes, epoch: int) -> int:
    return log.append(batch, leader_epoch=epoch, origin=AppendOrigin.COORDINATOR).base_offset


TRUSTED_CONFIGS = CONFIGS | st.sampled_from(
    [
        LogConfig(cleanup_policy=("compact",)),
        replace(SMALL, segment_bytes=300),
        replace(SMALL, max_compaction_lag_ms=20_000, cleanup_policy=("compact",)),
    ]
)
PAIRS = st.lists(
    st.tuples(st.binary(max_size=100), st.none() | st.binary(max_size=300)), min_size=1, max_size=4
)
TRUSTED_STEPS = st.lists(
    st.tuples(PAIRS, st.sampled_from([0, 0, 0, 1]), st.integers(0, 40_000)),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=120)
@given(TRUSTED_CONFIGS, TRUSTED_STEPS)
def test_trusted_pairs_lie_there_as_if_appended_as_a_batch(
    config: LogConfig, steps: list[Any]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), open_files=OpenFiles(files=PromptFiles()))
        trusted, plain = disk.log("trusted-0", config), disk.log("plain-0", config)
        epoch = 0
        for pairs, epochs, milliseconds in steps:
            epoch += epochs
            disk.now_ms += milliseconds
            pairs_answer = answer_of(
                trusted, partial(trusted.append_trusted, pairs, disk.now_ms, epoch)
            )
            batch = batch_of(pairs, disk.now_ms)
            assert pairs_answer == answer_of(
                plain, partial(appended_as_coordinator, plain, batch, epoch)
            )
        assert content(trusted) == content(plain)
        trusted.close()
        plain.close()


APPENDS: dict[str, Any] = {
    "a batch": lambda disk, log: log.append(disk.batch(b"value"), leader_epoch=0).base_offset,
    "trusted pairs": lambda disk, log: log.append_trusted([(b"key", b"value")], START_MS, 0),
}


@pytest.mark.parametrize("kind", APPENDS)
def test_a_full_disk_is_said_and_nothing_has_changed(tmp_path: Path, kind: str) -> None:
    files = FullFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    log = disk.log()
    disk.append(log, b"value")
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        APPENDS[kind](disk, log)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.is_full = False
    assert APPENDS[kind](disk, log) == 1
    log.close()


@pytest.mark.parametrize("kind", APPENDS)
def test_an_offline_log_takes_nothing(disk: Disk, kind: str) -> None:
    log = disk.log()
    disk.append(log, b"value")
    log.offline_reason = "the disk is broken"
    with pytest.raises(KafkaError) as caught:
        APPENDS[kind](disk, log)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    log.offline_reason = None
    log.close()
