"""Aborted records are left out, whether the index tells of them or the batches do."""

from __future__ import annotations

import pytest

from kafkalite.spark.aborted_transactions import (
    Aborted,
    aborted_transactions,
    first_unstable_offset,
    walk_transactions,
)
from kafkalite.spark.data_directory import (
    Bounds,
    bounds,
)
from tests.kafkalite.spark.conftest import TOPIC
from tests.kafkalite.spark.read_rows import COMMITTED, Make, values


def test_markers_and_aborted_records_are_left_out_if_asked(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=400)
    directory.transaction(1, b"yes-1", b"yes-2", commit=True)
    directory.transaction(1, b"no-1", commit=False)
    directory.transaction(2, b"later", commit=None)
    directory.transaction(1, b"yes-3", commit=True)
    directory.mark(2, commit=False)
    directory.transaction(3, b"open", commit=None)
    directory.records(b"behind it")
    everything = [b"yes-1", b"yes-2", b"no-1", b"later", b"yes-3", b"open", b"behind it"]
    committed = [b"yes-1", b"yes-2", b"yes-3"]
    for path in (directory.kill(), directory.stop()):
        assert values(path) == everything
        assert bounds(path, TOPIC, 0, COMMITTED) == Bounds(0, 9)
        assert values(path, isolation=COMMITTED) == committed


@pytest.mark.parametrize("keep_indexes", [True, False])
def test_aborts_behind_the_recovery_point_are_found_without_an_index(
    data_directory: Make, keep_indexes: bool
) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(20):
        directory.transaction(i % 3, b"%d" % i, commit=bool(i % 2))
    path = directory.kill(recovery_point=20)
    if not keep_indexes:
        for index in (path / f"{TOPIC}-0").glob("*.txnindex"):
            if int(index.stem) >= 20:
                index.unlink()
    assert values(path, isolation=COMMITTED) == [b"%d" % i for i in range(20) if i % 2]


def test_the_first_open_transaction_bounds_what_is_stable(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=300)
    directory.transaction(1, b"a", commit=True)  # offsets 0 and 1
    directory.transaction(2, b"b", commit=None)
    directory.transaction(3, b"c", commit=None)
    log = directory.stop() / f"{TOPIC}-0"
    assert first_unstable_offset(log, 4) == 2
    assert first_unstable_offset(log, 2) is None
    assert walk_transactions(log, 4, 4).open == {2: 2, 3: 3}


@pytest.mark.parametrize("trusted_until", [None, 0])
def test_aborts_are_told_for_a_range(data_directory: Make, trusted_until: int | None) -> None:
    """By the indexes where they can be trusted, else by walking the batches."""
    directory = data_directory(segment_bytes=300)
    directory.transaction(1, b"no", commit=False)  # 0, marker at 1
    directory.records(b"plain")  # 2
    directory.transaction(2, b"no", b"no", commit=False)  # 3 and 4, marker at 5
    directory.transaction(1, b"yes", commit=True)  # 6, marker at 7
    log = directory.stop() / f"{TOPIC}-0"

    def aborted(start: int, end: int) -> list[Aborted]:
        return sorted(aborted_transactions(log, start, end, trusted_until=trusted_until))

    first, second = Aborted(1, 0, 1), Aborted(2, 3, 5)
    assert aborted(0, 8) == [first, second]
    assert aborted(2, 5) == [second]
    assert aborted(6, 8) == []
