"""`Log.append` and `append_trusted`: what a header lets through is what validation lets through."""

import struct
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.acceptance import MOST_BRIEF_BYTES, accept, largest_timestamp
from kafkalite.log.accepted_batch import AcceptedBatch, as_accepted
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import TakesLong
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import CRC_POSITION, Record, RecordBatch, build_batch
from tests.log.appending import CONFIGS, as_seen, content
from tests.log.conftest import START_MS, Disk
from tests.log.faults import PromptFiles

RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(START_MS - 5000, START_MS + 5000),
        key=st.none() | st.binary(max_size=5),
        value=st.none() | st.binary(max_size=300),
        # None of its fields is left out: in the compiled build they have no types.
        headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3))),
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


def appended(log: Log, records: bytes, epoch: int) -> Any:
    try:
        return log.append(records, leader_epoch=epoch).base_offset
    except KafkaError as error:
        return error.code, error.message.replace(log.name, "")


def always_validated(config: LogConfig) -> LogConfig:
    """The same config for a log that lets validation look at every batch."""
    config = replace(config)
    object.__setattr__(config, "keeps_batches", False)
    return config


@pytest.mark.slow
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


NOW_MS = START_MS
GOOD = build_batch(
    [Record(timestamp=NOW_MS + i, key=b"k", value=b"v%d" % i) for i in range(3)],
    producer_id=7,
    producer_epoch=2,
    base_sequence=40,
    is_transactional=True,
)


def fields_of(accepted: AcceptedBatch) -> tuple[int, ...]:
    """All but its bytes."""
    return (
        accepted.crc,
        accepted.size_bytes,
        accepted.attributes,
        accepted.last_offset_delta,
        accepted.max_timestamp,
        accepted.producer_id,
        accepted.producer_epoch,
        accepted.base_sequence,
        accepted.record_count,
        accepted.log_append_time_ms,
    )


def test_an_accepted_batch_has_its_header_s_fields_and_its_bytes() -> None:
    accepted = accept(GOOD, LogConfig(), NOW_MS)
    assert accepted is not None
    assert accepted.under_crc == GOOD[21:]
    crc = int.from_bytes(GOOD[CRC_POSITION : CRC_POSITION + 4])
    assert fields_of(accepted) == (crc, len(GOOD), 0x10, 2, NOW_MS + 2, 7, 2, 40, 3, -1)
    assert (accepted.is_transactional, accepted.is_control, accepted.last_sequence) == (
        True,
        False,
        42,
    )


# position, layout, value
ODD_HEADERS = {
    "base offset": (0, ">q", 1),
    "length": (8, ">i", len(GOOD) - 13),
    "magic": (16, ">b", 1),
    "stamped by the client": (21, ">h", 0x18),
    "control": (21, ">h", 0x30),
    "codec 5": (21, ">h", 0x15),
    "unknown attribute": (21, ">h", 0x90),
    "last offset": (23, ">i", 3),
    "base timestamp": (27, ">q", NOW_MS + 1),
    "first base timestamp": (27, ">q", -(2**63)),
    "last base timestamp": (27, ">q", 2**63 - 1),
    "largest timestamp": (35, ">q", NOW_MS + 3),
    "last of all timestamps": (35, ">q", 2**63 - 1),
    "negative timestamp": (35, ">q", -2),
    "no sequence": (53, ">i", -1),
    "count": (57, ">i", 2),
    "no records": (57, ">i", 0),
}


@pytest.mark.parametrize("config", [LogConfig(message_timestamp_type="LogAppendTime"), LogConfig()])
def test_validation_of_many_bytes_takes_long(config: LogConfig) -> None:
    large = build_batch([Record(timestamp=NOW_MS, value=bytes(MOST_BRIEF_BYTES))], base_offset=1)
    small = build_batch([Record(timestamp=NOW_MS, value=bytes(1000))], base_offset=1)
    config = replace(config, max_message_bytes=2 * MOST_BRIEF_BYTES)
    with pytest.raises(TakesLong):
        accept(large, config, NOW_MS, briefly=True)
    assert accept(small, config, NOW_MS, briefly=True) is None


@pytest.mark.parametrize("kind", ODD_HEADERS)
def test_an_odd_header_needs_validation(kind: str) -> None:
    position, layout, value = ODD_HEADERS[kind]
    odd = bytearray(GOOD)
    struct.pack_into(layout, odd, position, value)
    odd[CRC_POSITION : CRC_POSITION + 4] = crc32c(odd[21:]).to_bytes(4)
    assert accept(odd, LogConfig(), NOW_MS) is None


@pytest.mark.parametrize(
    ("timestamps", "is_accepted"),
    [
        ((NOW_MS - 1000, NOW_MS + 2000), True),
        ((NOW_MS, NOW_MS - 1001), False),
        ((NOW_MS, NOW_MS + 2001), False),
    ],
)
def test_timestamps_beyond_the_topic_s_limits_need_validation(
    timestamps: tuple[int, ...], is_accepted: bool
) -> None:
    limits = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=2000)
    batch = build_batch([Record(timestamp=each) for each in timestamps])
    assert (accept(batch, limits, NOW_MS) is not None) is is_accepted


@pytest.mark.parametrize(("timestamp", "is_accepted"), [(-1, True), (-2, False), (0, True)])
def test_negative_timestamps_need_validation(timestamp: int, is_accepted: bool) -> None:
    batch = build_batch([Record(timestamp=timestamp), Record(timestamp=NOW_MS)])
    assert (accept(batch, LogConfig(), NOW_MS) is not None) is is_accepted


def test_no_difference_of_timestamps_lets_anything_pass() -> None:
    """The walk over records returns the most negative one for records that are odd."""
    odd = bytearray(build_batch([Record(timestamp=NOW_MS, value=b"value")]))
    odd[-8:] = b"garbage!"
    struct.pack_into(">qq", odd, 27, 2**63 - 1, -1)
    odd[CRC_POSITION : CRC_POSITION + 4] = crc32c(odd[21:]).to_bytes(4)
    assert accept(odd, LogConfig(), NOW_MS) is None


def test_a_wrong_checksum_needs_validation() -> None:
    for position in range(17, len(GOOD)):
        odd = bytearray(GOOD)
        odd[position] ^= 1
        assert accept(odd, LogConfig(), NOW_MS) is None, position


@pytest.mark.parametrize(
    ("config", "is_accepted"),
    [
        (LogConfig(max_message_bytes=len(GOOD)), True),
        (LogConfig(max_message_bytes=len(GOOD) - 1), False),
        (LogConfig(segment_bytes=len(GOOD) - 1), False),
        (LogConfig(message_timestamp_type="LogAppendTime"), False),
        (LogConfig(compression_type="gzip"), False),
        (LogConfig(message_timestamp_after_max_ms=2), True),
        (LogConfig(message_timestamp_after_max_ms=1), False),
        (LogConfig(message_timestamp_before_max_ms=0), True),
        (LogConfig(cleanup_policy=("compact",)), True),
    ],
)
def test_the_topic_s_config_decides(config: LogConfig, is_accepted: bool) -> None:
    assert (accept(GOOD, config, NOW_MS) is not None) is is_accepted


def test_a_record_that_is_too_old_needs_validation() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000)
    assert accept(GOOD, config, NOW_MS + 1000) is not None
    assert accept(GOOD, config, NOW_MS + 1001) is None


def test_a_compacted_topic_s_records_without_keys_need_validation() -> None:
    batch = build_batch([Record(timestamp=NOW_MS, value=b"v")])
    assert accept(batch, LogConfig(), NOW_MS) is not None
    assert accept(batch, LogConfig(cleanup_policy=("compact",)), NOW_MS) is None


@pytest.mark.parametrize("codec", Compression)
def test_compressed_records_are_looked_at(codec: Compression) -> None:
    records = [Record(timestamp=NOW_MS, value=b"v" * 50) for _ in range(3)]
    batch = build_batch(records, compression=codec)
    accepted = accept(batch, LogConfig(), NOW_MS)
    assert accepted is not None
    assert accepted.under_crc == batch[21:]
    keyed = LogConfig(cleanup_policy=("compact",))
    assert accept(batch, keyed, NOW_MS) is None
    # The codec's own data is damaged, the batch's checksum is right.
    damaged = bytearray(batch)
    damaged[61:71] = b"\xff" * 10
    damaged[CRC_POSITION : CRC_POSITION + 4] = crc32c(damaged[21:]).to_bytes(4)
    assert accept(damaged, LogConfig(), NOW_MS) is None


def test_the_largest_timestamp_is_found_in_the_records() -> None:
    times = [NOW_MS + 5, NOW_MS + 9, NOW_MS - 100]
    batch = RecordBatch(build_batch([Record(timestamp=time) for time in times]))
    config = LogConfig()
    assert largest_timestamp(batch, config, NOW_MS, -1) == NOW_MS + 9
    assert largest_timestamp(batch, config, NOW_MS, NOW_MS - 100) == NOW_MS + 9
    assert largest_timestamp(batch, config, NOW_MS, NOW_MS - 99) is None
    near = LogConfig(message_timestamp_after_max_ms=8)
    assert largest_timestamp(batch, near, NOW_MS, -1) is None
    # A topic that stamps its records has no limits for the client's.
    stamping = LogConfig(message_timestamp_after_max_ms=8, message_timestamp_type="LogAppendTime")
    assert largest_timestamp(batch, stamping, NOW_MS, -1) == NOW_MS + 9


def test_a_follower_s_batch_is_taken_as_it_is() -> None:
    batch = RecordBatch(GOOD)
    accepted = as_accepted(batch)
    as_from_a_client = accept(GOOD, LogConfig(), NOW_MS)
    assert as_from_a_client is not None
    assert fields_of(accepted) == fields_of(as_from_a_client)
    assert accepted.under_crc == as_from_a_client.under_crc
