"""Batches are walked by their lengths, and stopped at by what is none."""

from __future__ import annotations

import numpy as np
import pytest

from kafkalite.spark.batch_headers import gather, walk
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, build_batch

FIRST = build_batch([Record(timestamp=5, value=b"a"), Record(timestamp=6, value=b"b")])
SECOND = build_batch(
    [Record(timestamp=7, value=b"c")],
    base_offset=2,
    producer_id=9,
    producer_epoch=1,
    is_transactional=True,
)
MARKER = build_end_transaction_marker(
    producer_id=9, producer_epoch=1, commit=True, coordinator_epoch=0, timestamp=8, base_offset=3
)
WHOLE = FIRST + SECOND + MARKER


def test_every_field_is_read() -> None:
    headers = walk(WHOLE)
    assert (headers.end, headers.damage, headers.crc_ok) == (len(WHOLE), None, None)
    assert headers.positions.tolist() == [0, len(FIRST), len(FIRST) + len(SECOND)]
    assert headers.base_offsets.tolist() == [0, 2, 3]
    assert headers.last_offsets.tolist() == [1, 2, 3]
    assert headers.is_control.tolist() == [False, False, True]
    assert headers.is_transactional.tolist() == [False, True, True]
    fields = headers.fields
    assert fields["producer_id"].tolist() == [-1, 9, 9]
    assert fields["producer_epoch"].tolist() == [-1, 1, 1]
    assert fields["record_count"].tolist() == [2, 1, 1]
    assert fields["max_timestamp"].tolist() == [6, 7, 8]
    assert fields["magic"].tolist() == [2, 2, 2]


def test_a_walk_begins_where_it_is_told() -> None:
    assert walk(WHOLE, len(FIRST)).base_offsets.tolist() == [2, 3]


@pytest.mark.parametrize("size", range(len(FIRST), len(FIRST) + len(SECOND), 7))
def test_a_batch_that_is_cut_short_is_left(size: int) -> None:
    headers = walk(memoryview(WHOLE)[:size])
    assert (len(headers.positions), headers.end, headers.damage) == (1, len(FIRST), None)


@pytest.mark.parametrize(
    ("position", "change", "damage"),
    [
        (8, b"\0\0\0\x30", "a batch length of 48"),
        (8, b"\xff\xff\xff\xff", "a batch length of -1"),
        (16, b"\1", "magic 1, not 2"),
    ],
)
def test_what_is_no_batch_ends_the_walk(position: int, change: bytes, damage: str) -> None:
    data = bytearray(WHOLE)
    at = len(FIRST) + position
    data[at : at + len(change)] = change
    headers = walk(data)
    assert (len(headers.positions), headers.end, headers.damage) == (1, len(FIRST), damage)


def test_a_wrong_checksum_is_told_and_not_stopped_at() -> None:
    data = bytearray(WHOLE)
    data[len(FIRST) + 30] ^= 1
    assert walk(data).crc_ok is None
    headers = walk(data, check_crc=True)
    assert headers.crc_ok is not None
    assert headers.crc_ok.tolist() == [True, False, True]
    picked = headers.select(np.array([1, 2]))
    assert picked.crc_ok is not None
    assert (picked.base_offsets.tolist(), picked.crc_ok.tolist()) == ([2, 3], [False, True])


def test_nothing_is_no_batch() -> None:
    headers = walk(b"", check_crc=True)
    assert (len(headers.fields), headers.end, headers.damage) == (0, 0, None)
    assert len(gather(memoryview(WHOLE), np.array([], np.int64))) == 0
