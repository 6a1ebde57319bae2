"""A follower takes in its leader's answers: it appends, cuts, or begins again elsewhere."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.replication import following
from kafkalite.replication.fetch_state import Progress
from kafkalite.replication.following import MOST_CUT, Question
from kafkalite.replication.replica import Replica
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import EpochEndOffset, PartitionData
from tests.kafkalite.replication.one_replica import (
    FOLLOWED,
    LED,
    batch,
    new_log,
    new_replica,
    values,
)


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    made = new_replica(tmp_path)
    made.change(FOLLOWED)
    return made


def answer(
    records: bytes = b"", *, high_watermark: int = 0, start: int = 0, code: int = 0, **more: Any
) -> PartitionData:
    return PartitionData(
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=start,
        records=records,
        **more,
    )


THREE = b"".join(batch(value, offset=offset) for offset, value in enumerate((b"a", b"b", b"c")))


def taken(replica: Replica, data: PartitionData, now: float = 0.0) -> bool:
    question, _ = following.ask(replica, 1 << 20)
    return at_once(following.taking(question, data, now))


def test_a_question_says_how_far_it_is_and_by_which_history(replica: Replica) -> None:
    _, wanted = following.ask(replica, 1000)
    assert (wanted.fetch_offset, wanted.last_fetched_epoch) == (0, -1)
    assert (wanted.current_leader_epoch, wanted.partition_max_bytes) == (1, 1000)
    taken(replica, answer(batch(b"a", b"b"), high_watermark=1))
    _, wanted = following.ask(replica, 1000)
    assert (wanted.fetch_offset, wanted.last_fetched_epoch) == (2, 1)


def test_records_are_appended_and_committed_as_far_as_they_are_here(replica: Replica) -> None:
    assert taken(replica, answer(batch(b"a", b"b"), high_watermark=9))
    assert (values(replica.log), replica.log.high_watermark) == ([b"a", b"b"], 2)
    assert taken(replica, answer(batch(b"c", offset=2), high_watermark=2))
    assert (replica.log.log_end_offset, replica.log.high_watermark) == (3, 2)
    assert taken(replica, answer(high_watermark=3))
    assert replica.log.high_watermark == 3


def test_batches_of_a_later_epoch_are_left_for_the_next_question(replica: Replica) -> None:
    """KAFKA-18723: where the later leader's log begins is not known here yet."""
    later = batch(b"b", offset=1, epoch=2)
    taken(replica, answer(batch(b"a") + later))
    assert values(replica.log) == [b"a"]


def _copied(log: Log) -> Log:
    """Another log that ends where this one does."""
    other = new_log(log.directory.parent, index=1)
    other.append_as_follower(batch(b"a"))
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda replica: replica.change(replace(FOLLOWED, leader_epoch=2, partition_epoch=2)),
        lambda replica: replica.change(replace(LED, leader_epoch=2, partition_epoch=2)),
        lambda replica: replica.log.truncate_to(0),
        lambda replica: setattr(replica, "log", _copied(replica.log)),
    ],
    ids=["another leader", "leads itself", "was cut", "moved"],
)
def test_a_change_between_two_pieces_ends_the_append(
    replica: Replica, change: Callable[[Replica], object]
) -> None:
    log = replica.log
    large = batch(b"l" * (2 * PIECE_BYTES), offset=1)
    steps = following.taking(
        following.ask(replica, 1 << 20)[0], answer(batch(b"a") + large, high_watermark=2), 0.0
    )
    path = log.segments.active.file.path
    next(steps)
    while path.stat().st_size < PIECE_BYTES:
        next(steps)
    change(replica)
    with pytest.raises(StopIteration):
        next(steps)
    assert (path.stat().st_size, log.high_watermark) == (log.size_bytes, 0)
    assert log.log_end_offset < 2


def test_a_large_batch_is_taken_in_steps(replica: Replica) -> None:
    large = batch(b"l" * (2 * PIECE_BYTES))
    question, _ = following.ask(replica, 1 << 20)
    steps = list(following.taking(question, answer(large, high_watermark=1), 0.0))
    assert len(steps) > 2
    assert (replica.log.log_end_offset, replica.log.high_watermark) == (1, 1)


def test_what_the_leader_has_deleted_is_deleted_once_it_is_committed(replica: Replica) -> None:
    taken(replica, answer(batch(b"a", b"b", b"c"), high_watermark=2, start=3))
    assert replica.log.log_start_offset == 0
    taken(replica, answer(high_watermark=3, start=2))
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == (2, 3)


def test_an_empty_log_begins_with_the_whole_batch(replica: Replica) -> None:
    """The leader's log starts within a batch, at offset 7 of one that begins at 5."""
    replica.log.start_over_at(7)
    taken(replica, answer(batch(b"5", b"6", b"7", b"8", offset=5), high_watermark=9, start=7))
    assert (replica.log.log_end_offset, replica.log.high_watermark) == (9, 9)
    assert replica.log.log_start_offset == 7


def test_a_log_begins_with_no_batch_of_a_later_epoch(replica: Replica) -> None:
    replica.log.start_over_at(7)
    taken(replica, answer(batch(b"5", b"6", b"7", b"8", offset=5, epoch=2), start=7))
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == (7, 7)
    assert replica.log.segments.first.base_offset == 7


def test_a_history_that_diverges_is_cut(replica: Replica) -> None:
    taken(replica, answer(THREE))
    assert taken(replica, answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=2)))
    assert values(replica.log) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        (0, 2, (0, 2)),  # its end is before ours: cut
        (5, 9, (5, 5)),  # its start is after ours: begin there
        (0, 9, (0, 3)),  # it has grown meanwhile: ask again
    ],
)
def test_an_offset_that_the_leader_has_not(
    replica: Replica, start: int, end: int, left: tuple[int, int]
) -> None:
    taken(replica, answer(THREE))
    assert not taken(replica, answer(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    following.ranged(replica, start, end)
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == left


def test_records_of_unknown_origin_are_dropped_down_to_what_was_committed(
    replica: Replica,
) -> None:
    taken(replica, answer(batch(b"a", b"b", epoch=-1), high_watermark=1))
    assert replica.log.leader_epochs.latest == -1
    question, wanted = following.ask(replica, 1000)
    assert question.offset == wanted.fetch_offset == replica.log.high_watermark


@pytest.mark.parametrize(
    "change",
    [
        {"leader_epoch": 2, "partition_epoch": 2},
        {"leader_id": -1, "partition_epoch": 2},
        {"leader_id": 1, "leader_epoch": 2, "partition_epoch": 2},
    ],
)
def test_an_answer_to_another_question_does_not_fit(
    replica: Replica, change: dict[str, int]
) -> None:
    question, _ = following.ask(replica, 1000)
    assert question.is_current
    replica.change(replace(FOLLOWED, **change))
    assert not question.is_current


def test_an_answer_does_not_fit_once_the_log_has_grown(replica: Replica) -> None:
    question, _ = following.ask(replica, 1000)
    taken(replica, answer(batch(b"a")))
    assert not question.is_current
    assert Question(replica, 1, 1).is_current


def with_many_segments(replica: Replica) -> int:
    """A segment for each record; returns their number."""
    count = 3 * MOST_CUT
    replica.log.config = LogConfig(segment_bytes=1)
    for offset in range(count):
        taken(replica, answer(batch(b"%d" % offset, offset=offset)))
    assert len(replica.log.segments) == count
    return count


def cut_in_parts(replica: Replica, end: int, cut: Callable[[], object]) -> int:
    """Call `cut` until the log ends at `end`; returns how often. Each cut is a small one."""
    for times in range(1, 100):
        before = len(replica.log.segments)
        cut()
        assert before - len(replica.log.segments) <= MOST_CUT
        if replica.log.log_end_offset == end:
            return times
    raise AssertionError(f"it ends at {replica.log.log_end_offset}")


def test_many_segments_are_cut_by_several_answers(replica: Replica) -> None:
    with_many_segments(replica)
    diverging = answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=10))
    assert cut_in_parts(replica, 10, lambda: taken(replica, diverging)) == 3
    assert values(replica.log) == [b"%d" % offset for offset in range(10)]


def test_many_segments_behind_the_leaders_end_are_cut_in_parts(replica: Replica) -> None:
    with_many_segments(replica)
    assert cut_in_parts(replica, 10, lambda: following.ranged(replica, 0, 10)) == 3
    assert values(replica.log) == [b"%d" % offset for offset in range(10)]


def test_a_log_of_many_segments_starts_over_in_parts(replica: Replica) -> None:
    count = with_many_segments(replica)
    start = count + 100
    assert cut_in_parts(replica, start, lambda: following.ranged(replica, start, start + 5)) == 4
    assert (replica.log.log_start_offset, len(replica.log.segments)) == (start, 1)


def test_an_error_keeps_only_its_partition_back(replica: Replica) -> None:
    assert taken(replica, answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER), now=5.0)
    assert replica.fetch_state.progress is Progress.BACKING_OFF
    assert not replica.fetch_state.is_due(5.0)
    assert replica.fetch_state.is_due(6.0)
    taken(replica, answer(code=ErrorCode.FENCED_LEADER_EPOCH))
    assert replica.fetch_state.progress is Progress.STOPPED


def test_records_that_are_damaged_are_asked_for_again(replica: Replica) -> None:
    damaged = bytearray(batch(b"a"))
    damaged[-1] ^= 1
    assert taken(replica, answer(bytes(damaged)))
    assert replica.log.log_end_offset == 0
    assert replica.fetch_state.progress is Progress.BACKING_OFF


def test_a_broken_disk_is_not_asked_again(replica: Replica) -> None:
    error = replica.log.storage_error(OSError(errno.EIO, "Input/output error"))
    following.failed(replica, error, 0)
    assert replica.fetch_state.progress is Progress.STOPPED


def test_a_full_disk_is_tried_again(
    replica: Replica, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*of: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(replica.log.files), "pwrite", full)
        for now in range(3):
            taken(replica, answer(batch(b"a")), now=now)
            assert replica.fetch_state.progress is Progress.BACKING_OFF
            assert replica.fetch_state.is_due(now + 1)
    assert len(caplog.records) == 1, "it is said once, not each time"
    taken(replica, answer(batch(b"a")))
    assert values(replica.log) == [b"a"]


def test_those_who_wait_are_told_when_something_changed(replica: Replica) -> None:
    told: list[int] = []
    replica.on_change = lambda: told.append(replica.log.high_watermark)
    taken(replica, answer(batch(b"a"), high_watermark=0))
    taken(replica, answer(high_watermark=0))
    assert told == [0]
    taken(replica, answer(high_watermark=1))
    assert told == [0, 1]
