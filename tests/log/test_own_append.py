"""What the broker writes itself is in the log as if it had been appended the declared way."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.own_append import Pair, append_own, write_pairs
from kafkalite.log.plain_append import NOT_PLAIN
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch
from tests.log.conftest import START_MS, Disk
from tests.log.test_plain_append import FullFiles, PromptFiles, content

Pairs = list[Pair]

SMALL = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=2000,
    index_interval_bytes=150,
    max_message_bytes=900,
    segment_ms=60_000,
)
CONFIGS = st.sampled_from(
    [
        LogConfig(),
        LogConfig(cleanup_policy=("compact",)),
        SMALL,
        replace(SMALL, segment_bytes=300),
        replace(SMALL, segment_index_bytes=24),
        replace(SMALL, max_compaction_lag_ms=20_000),
        replace(SMALL, message_timestamp_after_max_ms=1000),
        replace(SMALL, message_timestamp_before_max_ms=1000),
        replace(SMALL, message_timestamp_type="LogAppendTime"),
        replace(SMALL, compression_type="gzip"),
        replace(SMALL, flush_messages=2),
    ]
)
PAIRS = st.lists(
    st.tuples(st.binary(max_size=100), st.none() | st.binary(max_size=300)), min_size=1, max_size=4
)
STEPS = st.lists(
    st.tuples(PAIRS, st.sampled_from([0, 0, 0, 1]), st.integers(0, 40_000)),
    min_size=1,
    max_size=12,
)


def batch_of(pairs: Pairs, timestamp: int) -> bytes:
    return build_batch([Record(timestamp=timestamp, key=key, value=value) for key, value in pairs])


def declared_way(log: Log, pairs: Pairs, timestamp: int, epoch: int) -> Any:
    try:
        return log.append(
            batch_of(pairs, timestamp), leader_epoch=epoch, origin=AppendOrigin.COORDINATOR
        ).base_offset
    except KafkaError as error:
        return error.code, error.message.replace(log.name, "")


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(CONFIGS, STEPS)
def test_it_is_equal_to_append(config: LogConfig, steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), open_files=OpenFiles(files=PromptFiles()))
        short, declared = disk.log("short-0", config), disk.log("declared-0", config)
        epoch = 0
        for pairs, epochs, milliseconds in steps:
            epoch += epochs
            disk.now_ms += milliseconds
            before = short.log_end_offset
            answer: Any = append_own(short, pairs, disk.now_ms, epoch)
            if answer == NOT_PLAIN:
                assert short.log_end_offset == before
                answer = declared_way(short, pairs, disk.now_ms, epoch)
            assert answer == declared_way(declared, pairs, disk.now_ms, epoch)
            assert short.log_end_offset == declared.log_end_offset
            assert short.producer_state.end_offset == declared.producer_state.end_offset
        assert content(short) == content(declared)
        short.close()
        declared.close()


@given(st.lists(st.tuples(st.binary(max_size=9000), st.none() | st.binary(max_size=9000))))
def test_pairs_are_records_of_their_batch_s_timestamp(pairs: Pairs) -> None:
    assert batch_of(pairs, START_MS)[61:] == write_pairs(pairs)


def test_it_is_taken_by_all_but_an_epoch_s_first(disk: Disk) -> None:
    log = disk.log(config=LogConfig(cleanup_policy=("compact",)))
    pairs: Pairs = [(b"key", b"value"), (b"key", None)]
    assert append_own(log, pairs, START_MS, 0) == NOT_PLAIN
    assert declared_way(log, pairs, START_MS, 0) == 0
    assert [append_own(log, pairs, START_MS, 0) for _ in range(500)] == list(range(2, 1002, 2))
    assert append_own(log, pairs, START_MS, 1) == NOT_PLAIN
    assert append_own(log, [], START_MS, 0) == NOT_PLAIN
    log.offline_reason = "the disk is broken"
    assert append_own(log, pairs, START_MS, 0) == NOT_PLAIN
    log.offline_reason = None
    log.close()


def test_a_disk_that_is_full_is_said_and_nothing_has_changed(tmp_path: Path) -> None:
    files = FullFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    log = disk.log()
    disk.append(log, b"value")
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        append_own(log, [(b"key", b"value")], START_MS, 0)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.is_full = False
    assert append_own(log, [(b"key", b"value")], START_MS, 0) == 1
    log.close()
