"""`Log.append` and `append_trusted`: what a header lets through is what validation lets through."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import CRC_POSITION, Record, build_batch
from tests.log.appending import CONFIGS, as_seen, content
from tests.log.conftest import START_MS, Disk
from tests.log.faults import PromptFiles

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
