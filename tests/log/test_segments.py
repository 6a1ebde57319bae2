"""The table of a log's segments: by base offset, found by bisection."""

from pathlib import Path

import pytest

from kafkalite.log.open_files import OpenFiles
from kafkalite.log.segment import LogSegment
from kafkalite.log.segments import Segments
from kafkalite.log.transaction_index import AbortedTransaction


@pytest.fixture
def made(tmp_path: Path) -> dict[int, LogSegment]:
    open_files = OpenFiles()
    return {base: LogSegment(tmp_path, base, open_files) for base in (10, 20, 30)}


@pytest.fixture
def segments(made: dict[int, LogSegment]) -> Segments:
    segments = Segments()
    for base in (20, 10, 30):
        segments.add(made[base])
    return segments


def base(segment: LogSegment | None) -> int | None:
    return None if segment is None else segment.base_offset


def test_they_are_in_order(segments: Segments) -> None:
    assert segments.base_offsets == [each.base_offset for each in segments] == [10, 20, 30]
    assert (segments.first.base_offset, segments.active.base_offset) == (10, 30)
    assert len(segments) == 3


def test_the_segment_that_may_hold_an_offset(segments: Segments) -> None:
    found = {offset: base(segments.floor(offset)) for offset in (9, 10, 19, 20, 29, 30, 99)}
    assert found == {9: None, 10: 10, 19: 10, 20: 20, 29: 20, 30: 30, 99: 30}
    since = {
        offset: [each.base_offset for each in segments.since(offset)] for offset in (0, 15, 20, 99)
    }
    assert since == {0: [10, 20, 30], 15: [10, 20, 30], 20: [20, 30], 99: [30]}


def test_the_next_segment(segments: Segments, made: dict[int, LogSegment]) -> None:
    assert [base(segments.after(made[each])) for each in (10, 20, 30)] == [20, 30, None]
    segments.remove(made[20])
    # Also of one that has left the table meanwhile.
    assert [base(segments.after(made[each])) for each in (10, 20, 30)] == [30, 30, None]


def test_a_segment_takes_the_place_of_one_with_its_offset(
    segments: Segments, tmp_path: Path
) -> None:
    other = LogSegment(tmp_path, 20, OpenFiles())
    segments.add(other)
    assert segments.base_offsets == [10, 20, 30]
    assert segments.floor(25) is other


def test_the_table_may_change_while_it_is_gone_through(segments: Segments) -> None:
    met: list[int] = []
    for segment in segments:
        met.append(segment.base_offset)
        segments.remove(segment)
    assert met == [10, 20, 30]
    assert (len(segments), segments.floor(15), segments.since(0)) == (0, None, [])


def test_the_oldest_are_taken_out_but_for_the_active_one(segments: Segments) -> None:
    assert [each.base_offset for each in segments.take_oldest(1)] == [10]
    assert segments.base_offsets == [20, 30]
    assert [each.base_offset for each in segments.take_oldest(9)] == [20]
    assert segments.take_oldest(9) == []
    assert segments.base_offsets == [each.base_offset for each in segments] == [30]


def test_segments_with_aborted_transactions_are_found_without_the_others(
    segments: Segments, made: dict[int, LogSegment], tmp_path: Path
) -> None:
    def aborting_since(offset: int) -> list[int]:
        return [each.base_offset for each in segments.aborting_since(offset)]

    aborted = AbortedTransaction(1, 30, 31, 32)
    assert [aborting_since(offset) for offset in (0, 15, 30, 99)] == [[30]] * 4
    made[30].transaction_index.append(aborted)  # as the active one
    segments.add(LogSegment(tmp_path, 40, OpenFiles()))
    assert [aborting_since(offset) for offset in (0, 39, 40)] == [[30, 40], [30, 40], [40]]
    made[10].transaction_index.append(aborted)  # as recovery does
    assert aborting_since(0) == [30, 40]
    segments.note_aborts(made[10])
    segments.note_aborts(made[10])
    assert [aborting_since(offset) for offset in (0, 19, 20)] == [[10, 30, 40]] * 2 + [[30, 40]]
    segments.remove(segments.active)
    assert aborting_since(0) == [10, 30]  # active again, and still noted
    segments.remove(made[10])
    assert aborting_since(0) == [30]
    compacted = LogSegment(tmp_path, 10, OpenFiles())
    compacted.transaction_index.append(aborted)
    segments.add(compacted)
    assert aborting_since(0) == [10, 30]
    segments.take_oldest(1)
    assert aborting_since(0) == [30]
