"""The transaction index: aborted transactions, and which of them a fetch must know."""

import struct
from pathlib import Path

import pytest

from kafkalite.log.files import FILES
from kafkalite.log.transaction_index import AbortedTransaction, TransactionIndex
from tests.log.faults import FullFiles

# Markers at 105, 120 and 130; the third transaction was the longest.
ENTRIES = [
    AbortedTransaction(1, 100, 105, 106),
    AbortedTransaction(2, 110, 120, 107),
    AbortedTransaction(3, 107, 130, 131),
]


@pytest.fixture
def index(tmp_path: Path) -> TransactionIndex:
    """An index of a segment that begins at offset 100."""
    index = TransactionIndex(tmp_path, "100.txnindex", 100, FILES)
    for entry in ENTRIES:
        index.append(entry)
    return index


def test_the_bytes_are_kafka_s(index: TransactionIndex) -> None:
    index.write()
    assert index.path.read_bytes() == b"".join(
        struct.pack(">hqqqq", 0, *entry) for entry in ENTRIES
    )
    assert TransactionIndex(index.path.parent, index.path.name, 100, FILES).all() == ENTRIES


def test_where_nothing_was_aborted_there_is_no_file(tmp_path: Path) -> None:
    index = TransactionIndex(tmp_path, "100.txnindex", 100, FILES)
    index.write()
    assert not index.path.exists()
    assert (index.all(), index.is_sound()) == ([], True)
    index.note(ENTRIES[0])
    assert index.path.stat().st_size == 34
    index.truncate_to(100)
    index.write()
    assert index.all() == []
    assert not index.path.exists()


def test_an_emptied_index_s_file_is_removed(index: TransactionIndex) -> None:
    index.write()
    index.reset()
    index.write()
    assert not index.path.exists()


@pytest.mark.parametrize(
    ("offset", "upper_bound", "producers", "is_complete"),
    [
        (100, 106, [1], True),
        (106, 131, [2, 3], True),
        (121, 131, [3], True),
        (106, 107, [], True),
        (106, 108, [3], True),
        (131, 140, [], False),
        (100, 140, [1, 2, 3], False),
    ],
)
def test_those_that_touch_a_range(
    index: TransactionIndex,
    offset: int,
    upper_bound: int,
    producers: list[int],
    is_complete: bool,
) -> None:
    found, complete = index.overlapping(offset, upper_bound)
    assert ([each[1] for each in found], complete) == (producers, is_complete)


@pytest.mark.parametrize(("offset", "left"), [(131, 3), (130, 2), (120, 1), (105, 0)])
def test_transactions_that_end_at_or_behind_an_offset_are_dropped(
    index: TransactionIndex, offset: int, left: int
) -> None:
    index.truncate_to(offset)
    assert index.all() == ENTRIES[:left]


def test_an_entry_is_in_the_file_at_once_and_a_full_disk_is_made_good(tmp_path: Path) -> None:
    files = FullFiles()
    index = TransactionIndex(tmp_path, "100.txnindex", 100, files)
    index.note(ENTRIES[0])
    assert index.path.stat().st_size == 34
    files.is_full = True
    index.note(ENTRIES[1])
    assert index.path.stat().st_size == 34
    files.is_full = False
    index.note(ENTRIES[2])
    assert TransactionIndex(index.path.parent, index.path.name, 100, files).all() == ENTRIES


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 35,
        struct.pack(">hqqqq", 0, 1, 100, 99, 106),  # ends before the segment
        struct.pack(">hqqqq", 0, 1, 106, 105, 106),  # ends before it begins
        bytes(34),
    ],
)
def test_impossible_entries_are_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "100.txnindex"
    path.write_bytes(data)
    assert not TransactionIndex(path.parent, path.name, 100, FILES).is_sound()
    path.write_bytes(struct.pack(">hqqqq", 0, 1, 90, 105, 106))  # began in an earlier segment
    assert TransactionIndex(path.parent, path.name, 100, FILES).is_sound()
