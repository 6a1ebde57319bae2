"""Records out of many batches at once, without Python for a single record.

A batch's records can only be read one after the other, for each tells where the next one begins. But every
batch can be read beside every other: each is a lane with a cursor, and step k reads the k-th record of all
lanes with some dozens of numpy calls, whatever the number of lanes. A batch with many records makes several
lanes (`split`): where a record may begin in its middle is guessed, and the guess is proved by the lane
before it, which must end there.

Positions are those in `data`, which ends with PADDING bytes that are not looked at. A record is (KIP-98)::

    length, attributes (1 byte), timestamp delta, offset delta, key length, key, value length, value,
    header count, headers        all numbers zigzag varints
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkalite.wire.records import MIN_RECORD_BYTES

# A word may be read where the last byte is, and a cursor may pass the end before that is noticed.
PADDING = 64

# Columns of `Records.places`.
KEY_START, KEY_END, VALUE_START, VALUE_END, OFFSET_DELTA, HEADER_COUNT, HEADERS_START, END = range(
    8
)

# A lane has about so many records: fewer steps, each for more lanes.
_RECORDS_PER_LANE = 128
_SMALLEST_WINDOW_BYTES = 64
_LARGEST_WINDOW_BYTES = 4096


class CorruptRecords(ValueError):
    """Bytes that are no records; the message says where."""


class Records(NamedTuple):
    """Places (a row of int32 for each record), timestamp deltas, and which keys and values are null."""

    places: np.ndarray
    timestamp_deltas: np.ndarray
    key_is_null: np.ndarray
    value_is_null: np.ndarray


def read_records(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray
) -> Records:
    """The records of batches: `counts[i]` of them fill `data[starts[i]:ends[i]]`.

    Raises CorruptRecords.
    """
    if np.any(counts < 0) or np.any((ends - starts) < counts * MIN_RECORD_BYTES):
        raise CorruptRecords("a batch has more records than bytes for them")
    try:
        lanes = split(data, starts, ends, counts)
        if lanes is not None:
            try:
                return _run(data, *lanes)
            except (CorruptRecords, IndexError):
                pass  # a wrong guess; or damage, which will be seen again
        return _run(data, starts, ends, counts)
    except IndexError:
        raise CorruptRecords("a record goes on behind the end of its batch") from None


def _run(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> Records:
    words = words_of(data)
    total = int(counts.sum())
    places = np.empty((total, 8), np.int32)
    timestamp_deltas = np.empty(total, np.int64)
    key_is_null = np.zeros(total, bool)
    value_is_null = np.zeros(total, bool)
    first = np.cumsum(counts) - counts
    order = np.argsort(-counts, kind="stable")
    cursor = starts[order]
    row = first[order]
    sorted_counts = counts[order]
    # how many lanes still have a k-th record
    active = np.searchsorted(-sorted_counts, -np.arange(int(counts.max(initial=0))), side="left")
    for step, lanes in enumerate(active.tolist()):
        cursor = cursor[:lanes] if lanes < len(cursor) else cursor
        rows = row[:lanes] + step
        # All but the timestamp delta are zigzag numbers that must not be negative, but for a length of
        # -1, which is 1 unfolded: halves them is cheaper than unfolding.
        length, at = read_unsigned(data, words, cursor)
        record_end = at + (length >> 1)
        timestamp_delta, at = read_unsigned(data, words, at + 1)
        offset_delta, at = read_unsigned(data, words, at)
        key_length, key_start = read_unsigned(data, words, at)
        key_end = key_start + (key_length >> 1)
        value_length, value_start = read_unsigned(data, words, key_end)
        value_end = value_start + (value_length >> 1)
        header_count, headers_start = read_unsigned(data, words, value_end)
        key_odd, value_odd = key_length & 1, value_length & 1
        wrong = (headers_start > record_end) | ((header_count == 0) & (headers_start != record_end))
        wrong |= ((length | offset_delta | header_count) & 1) != 0
        wrong |= (key_length * key_odd | value_length * value_odd) > 1
        if wrong.any():
            raise CorruptRecords("a record's fields do not add up to its length")
        row_places = np.empty((lanes, 8), np.int32)
        for column, place in enumerate(
            (
                *(key_start, key_end, value_start, value_end),
                *(offset_delta >> 1, header_count >> 1, headers_start, record_end),
            )
        ):
            row_places[:, column] = place
        places[rows] = row_places
        timestamp_deltas[rows] = unfold_zigzag(timestamp_delta)
        key_is_null[rows] = key_odd
        value_is_null[rows] = value_odd
        # Not before the end of this step, and never backwards: a lane always gets further.
        if (record_end <= cursor).any():
            raise CorruptRecords("a record of negative length")
        cursor = record_end
    _check_ends(places[:, END], first, counts, ends)
    return Records(places, timestamp_deltas, key_is_null, value_is_null)


def _check_ends(
    record_ends: np.ndarray, first: np.ndarray, counts: np.ndarray, ends: np.ndarray
) -> None:
    """Each lane's last record must end where the lane does."""
    some = counts > 0
    if np.any(record_ends[(first + counts - 1)[some]] != ends[some]):
        raise CorruptRecords("a batch's records do not end where the batch does")


def words_of(data: np.ndarray) -> np.ndarray:
    """The eight bytes from each position on, as a little-endian number; no copy."""
    return np.ndarray((len(data) - 7,), "<i8", buffer=data, strides=(1,))


def read_varints(
    data: np.ndarray, words: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The zigzag varints at these positions, and the positions behind them. IndexError at the end."""
    value, behind = read_unsigned(data, words, at)
    return unfold_zigzag(value), behind


def unfold_zigzag(value: np.ndarray) -> np.ndarray:
    return ((value.view(np.uint64) >> 1).view(np.int64)) ^ -(value & 1)


def read_unsigned(
    data: np.ndarray, words: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The varints as they stand, as int64 (ten bytes may make it negative)."""
    word = words[at]
    value = word & 0x7F
    more = (word >> 7) & 1
    if more.any():
        value |= (word >> 1) & (more * 0x3F80)
        behind = at + (more + 1)
        longer = np.flatnonzero((word & 0x8080) == 0x8080)
        shift = 14
        while len(longer):
            if shift > 63:
                raise CorruptRecords("a varint of more than ten bytes")
            byte = data[behind[longer]].astype(np.int64)
            value[longer] |= (byte & 0x7F) << shift
            behind[longer] += 1
            longer = longer[byte >= 0x80]
            shift += 7
        return value, behind
    return value, at + 1


def split(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Lanes (starts, ends, counts) for batches of which some have many records; None if none has.

    A guess: that a record begins there must be proved by whoever runs the lanes.
    """
    large = np.flatnonzero(counts >= 2 * _RECORDS_PER_LANE)
    if not len(large):
        return None
    pieces = counts[large] // _RECORDS_PER_LANE
    batch = np.repeat(large, pieces - 1)  # the batch each guess is for
    piece = np.arange(len(batch)) - np.repeat(np.cumsum(pieces - 1) - (pieces - 1), pieces - 1) + 1
    size = ends[batch] - starts[batch]
    target = starts[batch] + size * piece // np.repeat(pieces, pieces - 1)
    window = int(np.clip(4 * (size // counts[batch]).max(), *_WINDOW_LIMITS))
    at, offset_delta, which = _guess(data, target, ends[batch], window)
    batch = batch[which]
    fits = (offset_delta > 0) & (offset_delta < counts[batch])
    at, offset_delta, batch = at[fits], offset_delta[fits], batch[fits]
    all_starts = np.concatenate((starts, at))
    all_batches = np.concatenate((np.arange(len(starts)), batch))
    all_deltas = np.concatenate((np.zeros(len(starts), np.int64), offset_delta))
    order = np.lexsort((all_starts, all_batches))
    lane_starts, lane_batches, lane_deltas = (
        all_starts[order],
        all_batches[order],
        all_deltas[order],
    )
    is_last = np.append(lane_batches[1:] != lane_batches[:-1], True)
    lane_ends = np.where(is_last, ends[lane_batches], np.append(lane_starts[1:], 0))
    next_deltas = np.where(is_last, counts[lane_batches], np.append(lane_deltas[1:], 0))
    lane_counts = next_deltas - lane_deltas
    if np.any(lane_counts < 0):
        return None
    return lane_starts, lane_ends, lane_counts


_WINDOW_LIMITS = (_SMALLEST_WINDOW_BYTES, _LARGEST_WINDOW_BYTES)


def _guess(
    data: np.ndarray, target: np.ndarray, end: np.ndarray, window: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each target the first position where two records in a row seem to begin.

    Position, offset delta, and which target; a target may have none.
    """
    words = words_of(data)
    limit = len(data) - PADDING
    at = np.minimum(target[:, None] + np.arange(window), limit).ravel()
    word = words[at]
    # one or two bytes of length, and a zero: the attributes
    short = (word & 0xFF80) == 0
    long = (word & 0xFF8080) == 0x80
    found = np.flatnonzero(short | long)
    at, which = at[found], found // window
    try:
        offset_delta, following = _offset_delta(data, words, at, end[which])
        keep = np.flatnonzero(following > 0)
        at, which, offset_delta, following = (
            at[keep],
            which[keep],
            offset_delta[keep],
            following[keep],
        )
        next_delta, _ = _offset_delta(data, words, following, end[which])
    except (IndexError, CorruptRecords):
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    keep = np.flatnonzero((next_delta == offset_delta + 1) & (data[following] != 0))
    at, which, offset_delta = at[keep], which[keep], offset_delta[keep]
    which, first = np.unique(which, return_index=True)
    return at[first], offset_delta[first], which


def _offset_delta(
    data: np.ndarray, words: np.ndarray, at: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The offset delta of the record that may begin there, and its end; -1 where none can."""
    length, behind = read_varints(data, words, at)
    following = behind + length
    fits = (length >= MIN_RECORD_BYTES - 1) & (following < end)
    behind = np.where(fits, behind, at)
    _, behind = read_varints(data, words, behind + 1)
    offset_delta, _ = read_varints(data, words, np.minimum(behind, len(words) - 1))
    return offset_delta, np.where(fits, following, -1)
