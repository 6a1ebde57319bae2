"""Appends that are written together: one write, or a log as it was before the first of them."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.log.append_info import AppendInfo
from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.joined_writes import JoinedWrites
from kafkalite.log.log import Log
from kafkalite.log.log_state import LogState
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.conftest import Disk, read_all

PRODUCER = {"producer_id": 9, "producer_epoch": 0}


class Written(Files):
    """Counts the writes to logs, and fails them with an error while it has one."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.error = 0
        self.logs: set[int] = set()

    def open(self, path: Path, flags: int) -> int:
        descriptor = super().open(path, flags)
        self.logs.discard(descriptor)
        if path.suffix == ".log":
            self.logs.add(descriptor)
        return descriptor

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if descriptor not in self.logs:
            return os.pwrite(descriptor, data, position)
        if self.error:
            os.pwrite(descriptor, data[: len(data) // 2], position)
            raise OSError(self.error, os.strerror(self.error))
        self.sizes.append(len(data))
        return os.pwrite(descriptor, data, position)


class Asked:
    """A request that appends."""

    def __init__(self) -> None:
        self.failed: list[Sequence[LogState]] = []

    def responded(self, *_: Any) -> None:
        """It has no response."""

    def refuse(self, failed: Sequence[LogState]) -> None:
        self.failed.append(failed)


class Turn:
    """A log, and appends of requests to it that are answered together."""

    def __init__(self, root: Path, config: LogConfig | None = None, **options: Any) -> None:
        self.files = Written()
        self.disk = Disk(root, open_files=OpenFiles(files=self.files))
        self.log: Log = self.disk.log(config=config, **options)
        self.joined = JoinedWrites()

    def append(self, *values: bytes, joined: bool = True, **fields: Any) -> AppendInfo:
        info = self.log.append(
            self.disk.batch(*values, **fields),
            leader_epoch=0,
            joined=self.joined if joined else None,
        )
        self.log.advance_high_watermark(self.log.log_end_offset)
        return info

    def ask(self, *values: bytes, **fields: Any) -> Asked:
        asked = Asked()
        self.joined.add(asked)
        self.append(*values, **fields)
        return asked


def state(log: Log) -> Any:
    """All that appends change."""
    active = log.segments.active
    return (
        log.log_end_offset,
        log.high_watermark,
        log.last_stable_offset,
        log.size_bytes,
        [segment.base_offset for segment in log.segments],
        (active.offset_index.count, active.offset_index.last()),
        active.largest,
        active.first_timestamp,
        {
            each.producer_id: (
                each.producer_epoch,
                each.transaction_first_offset,
                each.last_timestamp,
                [(batch.last_sequence, batch.last_offset) for batch in each.batches],
            )
            for each in log.producer_state.producers.values()
        },
        log.producer_state.first_unstable_offset,
        log.producer_state.end_offset,
        (log.directory / f"{active.base_offset:020d}.log").read_bytes(),
    )


def test_one_write_takes_the_batches_of_many_requests(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    asked = [turn.ask(value) for value in (b"a", b"b", b"c")]
    assert (turn.files.sizes, len(turn.joined), turn.log.high_watermark) == ([], 1, 3)
    turn.joined.settle()
    assert turn.files.sizes == [turn.log.size_bytes]
    assert [record.value for record in read_all(turn.log)] == [b"a", b"b", b"c"]
    turn.joined.settle()
    assert (len(turn.files.sizes), len(turn.joined)) == (1, 0)
    assert [each.failed for each in asked] == [[], [], []]


@pytest.mark.parametrize(
    ("config", "value"),
    [
        (LogConfig(), b"x" * 8192),
        (LogConfig(visible_after_flush=True), b"x"),
        (LogConfig(flush_messages=10), b"x"),
    ],
    ids=["large", "visible after flush", "flush.messages"],
)
def test_some_batches_are_written_at_once(tmp_path: Path, config: LogConfig, value: bytes) -> None:
    turn = Turn(tmp_path, config)
    turn.ask(value)
    assert (len(turn.files.sizes), len(turn.joined)) == (1, 0)


def test_where_writes_are_counted_each_batch_has_its_own(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    turn.files.counts_writes = True
    turn.ask(b"a")
    turn.ask(b"b")
    assert len(turn.files.sizes) == 2


def test_an_append_that_is_not_joined_writes_those_before_it_first(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    turn.ask(b"a")
    turn.ask(b"b")
    turn.append(b"c", joined=False)
    assert len(turn.files.sizes) == 2
    turn.ask(b"d")
    turn.joined.settle()
    assert len(turn.files.sizes) == 3
    assert [record.value for record in read_all(turn.log)] == [b"a", b"b", b"c", b"d"]


def test_a_segment_that_rolls_is_whole(tmp_path: Path) -> None:
    turn = Turn(tmp_path, LogConfig(segment_bytes=200))
    for value in (b"a", b"b", b"c", b"d", b"e"):
        turn.ask(value)
    assert len(turn.log.segments) == 3
    turn.joined.settle()
    assert [record.value for record in read_all(turn.log)] == [b"a", b"b", b"c", b"d", b"e"]
    again = Turn(tmp_path, LogConfig(segment_bytes=200))
    assert state(again.log)[0] == 5


@pytest.mark.parametrize("base_sequence", [-1, 0])
def test_a_full_disk_refuses_all_of_them(tmp_path: Path, base_sequence: int) -> None:
    fields = PRODUCER if base_sequence >= 0 else {}
    turn = Turn(tmp_path)
    turn.append(b"before", base_sequence=base_sequence, joined=False, **fields)
    before = state(turn.log)
    asked = [
        turn.ask(b"x", base_sequence=place + 1 if fields else -1, **fields) for place in range(7)
    ]
    turn.files.error = errno.ENOSPC
    turn.joined.settle()
    assert [each.failed for each in asked] == [[[turn.log]]] * 7
    assert state(turn.log) == before
    turn.files.error = 0
    retried = turn.append(b"x", base_sequence=1 if fields else -1, **fields)
    assert (retried.base_offset, retried.is_duplicate) == (1, False)
    turn.joined.settle()
    assert [record.value for record in read_all(turn.log)] == [b"before", b"x"]


def test_a_disk_that_breaks_takes_the_log_offline(tmp_path: Path) -> None:
    reasons: list[OSError] = []
    turn = Turn(tmp_path, on_failure=reasons.append)
    asked = turn.ask(b"a")
    turn.files.error = errno.EIO
    turn.joined.settle()
    assert (len(asked.failed), len(reasons), turn.log.log_end_offset) == (1, 1, 0)
    with pytest.raises(KafkaError, match="offline"):
        turn.append(b"b")


def test_a_log_that_went_offline_meanwhile_has_written_nothing(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    asked = turn.ask(b"a")
    turn.log.offline_reason = "its directory is gone"
    turn.joined.settle()
    assert (len(asked.failed), turn.files.sizes) == (1, [])


def test_after_a_failure_the_log_takes_nothing_until_all_know(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    first = turn.ask(b"a")
    turn.files.error = errno.ENOSPC
    with pytest.raises(KafkaError) as caught:
        turn.append(b"b", joined=False)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    turn.files.error = 0
    for joined in (True, False):
        with pytest.raises(KafkaError):
            turn.append(b"c", joined=joined)
    turn.joined.settle()
    assert first.failed == [[turn.log]]
    assert turn.append(b"d").base_offset == 0
    turn.joined.settle()
    assert [record.value for record in read_all(turn.log)] == [b"d"]


def test_a_transaction_that_could_not_begin_is_not_open(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    turn.append(b"before", joined=False)
    turn.ask(b"x", base_sequence=0, is_transactional=True, **PRODUCER)
    assert turn.log.last_stable_offset == 1
    turn.files.error = errno.ENOSPC
    turn.joined.settle()
    turn.files.error = 0
    assert not turn.log.producer_state.has_unstable
    turn.append(b"after", joined=False)
    assert turn.log.last_stable_offset == 2


APPENDS = st.lists(
    st.tuples(
        st.sampled_from([-1, 7, 8]),  # producer
        st.integers(0, 2),  # epoch
        st.booleans(),  # transactional
        st.integers(1, 3),  # records
        st.integers(0, 50),  # time
        st.booleans(),  # joined
    ),
    max_size=12,
)


def try_to_append(turn: Turn, drawn: Sequence[Any]) -> None:
    """Append, and leave out what a producer may not."""
    for producer_id, epoch, is_transactional, count, time, joined in drawn:
        fields: dict[str, Any] = {"timestamp": turn.disk.now_ms + time}
        if producer_id >= 0:
            entry = turn.log.producer_state.producers.get(producer_id)
            is_same = entry is not None and entry.producer_epoch == epoch
            sequence = entry.last_sequence + 1 if entry is not None and is_same else 0
            fields |= {
                "producer_id": producer_id,
                "producer_epoch": epoch,
                "base_sequence": sequence,
                "is_transactional": is_transactional,
            }
        try:
            turn.append(*[b"v"] * count, joined=joined, **fields)
        except KafkaError:
            continue


@given(written=APPENDS, lost=APPENDS, after=APPENDS)
def test_what_cannot_be_written_has_not_been(
    tmp_path_factory: pytest.TempPathFactory, written: Any, lost: Any, after: Any
) -> None:
    """The log is the same as one to which nobody tried to append it, and goes on alike."""
    config = LogConfig(index_interval_bytes=100)
    turns = [Turn(tmp_path_factory.mktemp("logs"), config) for _ in range(2)]
    for turn in turns:
        try_to_append(turn, written)
        turn.joined.add(Asked())
        turn.joined.settle()
    unlucky, other = turns
    try_to_append(unlucky, [(*each[:5], True) for each in lost])
    unlucky.files.error = errno.ENOSPC
    unlucky.joined.add(Asked())
    unlucky.joined.settle()
    unlucky.files.error = 0
    if unlucky.log.size_bytes:
        assert state(unlucky.log) == state(other.log)
    for turn in turns:
        try_to_append(turn, after)
        turn.joined.add(Asked())
        turn.joined.settle()
    if other.log.size_bytes:
        assert state(unlucky.log) == state(other.log)
    for turn in turns:
        turn.log.close()
