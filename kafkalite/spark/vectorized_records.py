"""Records out of many batches at once, without Python for a single record.

A batch's records can only be found one after the other, for each tells where the next one begins.
But every batch can be walked beside every other: each is a lane with a cursor, and step k finds the
k-th record of all lanes with some numpy calls, whatever the number of lanes. A batch with many
records makes several lanes (`split`): where a record may begin in its middle is guessed, and the
guess is proved by the lane before it, which must end there. Once all records are found, their
fields are read from all of them at once.

Positions are those in `data`. A record is (KIP-98)::

    length, attributes (1 byte), timestamp delta, offset delta, key length, key, value length,
    value, header count, headers        all numbers zigzag varints
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkalite.wire.record_format import MIN_RECORD_BYTES

# A lane has about so many records: fewer steps, each for more lanes.
_RECORDS_PER_LANE = 128
# Fields of so many records are read together: what is between two numpy calls stays in the cache.
_RECORDS_AT_ONCE = 1 << 12
_SMALLEST_WINDOW_BYTES = 64
_LARGEST_WINDOW_BYTES = 4096


class CorruptRecords(ValueError):
    """Bytes that are no records; the message says where."""


class Records(NamedTuple):
    """Columns of what is known of each record. Positions are those in the data."""

    edges: np.ndarray  # `new_edges`: where key and value begin and end
    key_is_null: np.ndarray
    value_is_null: np.ndarray
    offset_deltas: np.ndarray
    timestamp_deltas: np.ndarray
    header_counts: np.ndarray
    headers_starts: np.ndarray
    ends: np.ndarray


def new_edges(count: int) -> np.ndarray:
    """Four positions for each of `count` pairs, and one more: the offsets of an Arrow array over
    the data whose elements are a key, what lies behind it, a value, what lies behind that, and so
    on."""
    return np.zeros(4 * count + 1, np.int32)


def by_pair(edges: np.ndarray) -> np.ndarray:
    """The same, a row for each pair: start and end of the key, start and end of the value."""
    return edges[:-1].reshape(-1, 4)


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
    bodies, lengths = _find(data, starts, counts)
    total = len(bodies)
    found = Records(
        new_edges(total),
        np.empty(total, bool),
        np.empty(total, bool),
        *(np.empty(total, np.int64) for _ in range(5)),
    )
    for first in range(0, total, _RECORDS_AT_ONCE):
        some = slice(first, first + _RECORDS_AT_ONCE)
        _read_fields(data, bodies[some], lengths[some], found, some)
    lasts = (np.cumsum(counts) - 1)[counts > 0]
    if np.any(found.ends[lasts] != ends[counts > 0]):
        raise CorruptRecords("a batch's records do not end where the batch does")
    if total:
        found.edges[-1] = found.edges[-2]
    return found


def _find(
    data: np.ndarray, starts: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each record the position behind its length, and its length as it stands."""
    total = int(counts.sum())
    bodies, lengths = np.empty(total, np.int64), np.empty(total, np.int64)
    order = np.argsort(-counts, kind="stable")
    cursor, row = starts[order], (np.cumsum(counts) - counts)[order]
    # how many lanes still have a k-th record
    steps = np.arange(int(counts.max(initial=0)))
    active = np.searchsorted(-counts[order], -steps, side="left")
    for lanes in active.tolist():
        cursor, row = cursor[:lanes], row[:lanes]
        length, body = read_unsigned(data, cursor)
        bodies[row] = body
        lengths[row] = length
        cursor = body + (length >> 1)
        row = row + 1
    return bodies, lengths


def _read_fields(
    data: np.ndarray,
    bodies: np.ndarray,
    lengths: np.ndarray,
    found: Records,
    rows: slice,
) -> None:
    """The fields of these records, into `rows` of `found`."""
    # All but the timestamp delta are zigzag numbers that must not be negative, but for a length of
    # -1, which is 1 unfolded: halves them is cheaper than unfolding.
    ends = bodies + (lengths >> 1)
    timestamp_delta, at = read_unsigned(data, bodies + 1)
    offset_delta, at = read_unsigned(data, at)
    key_length, key_start = read_unsigned(data, at)
    key_end = key_start + (key_length >> 1)
    value_length, value_start = read_unsigned(data, key_end)
    value_end = value_start + (value_length >> 1)
    header_count, headers_start = read_unsigned(data, value_end)
    wrong = (headers_start > ends) | ((header_count == 0) & (headers_start != ends))
    plain = lengths | offset_delta | header_count
    wrong |= ((plain & 1) != 0) | ((plain | key_length | value_length) < 0)
    key_odd, value_odd = key_length & 1, value_length & 1
    wrong |= (key_length * key_odd | value_length * value_odd) > 1
    if wrong.any():
        raise CorruptRecords("a record's fields do not add up to its length")
    pairs = by_pair(found.edges)[rows]
    for column, edge in enumerate((key_start, key_end, value_start, value_end)):
        pairs[:, column] = edge
    found.key_is_null[rows] = key_odd
    found.value_is_null[rows] = value_odd
    found.offset_deltas[rows] = offset_delta >> 1
    found.timestamp_deltas[rows] = unfold_zigzag(timestamp_delta)
    found.header_counts[rows] = header_count >> 1
    found.headers_starts[rows] = headers_start
    found.ends[rows] = ends


def read_varints(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The zigzag varints at these positions, and the positions behind them. IndexError at the
    end."""
    value, behind = read_unsigned(data, at)
    return unfold_zigzag(value), behind


def unfold_zigzag(value: np.ndarray) -> np.ndarray:
    return ((value.view(np.uint64) >> 1).view(np.int64)) ^ -(value & 1)


def read_unsigned(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The varints as they stand, as int64 (ten bytes may make it negative)."""
    first = data.take(at)
    behind = at + 1
    more = first >> 7
    if not more.any():
        return first.astype(np.int64), behind
    # where there is no second byte, what is read in its place may lie behind the data
    second = data.take(behind, mode="clip") * more
    value = (second.astype(np.int64) << 7) | (first & 0x7F)
    behind += more
    longer = np.flatnonzero(second >> 7)
    value[longer] &= 0x3FFF
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


def split(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Lanes (starts, ends, counts) for batches of which some have many records; None if none has.

    A guess: that a record begins there must be proved by the caller.
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
    at = np.minimum(target[:, None] + np.arange(window), len(data) - 3).ravel()
    first, second, third = data[at], data[at + 1], data[at + 2]
    # one or two bytes of length, and a zero: the attributes
    short = (first < 0x80) & (second == 0)
    long = (first >= 0x80) & (second < 0x80) & (third == 0)
    found = np.flatnonzero(short | long)
    at, which = at[found], found // window
    try:
        offset_delta, following = _offset_delta(data, at, end[which])
        keep = np.flatnonzero(following > 0)
        at, which, offset_delta, following = (
            at[keep],
            which[keep],
            offset_delta[keep],
            following[keep],
        )
        next_delta, _ = _offset_delta(data, following, end[which])
    except (IndexError, CorruptRecords):
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    keep = np.flatnonzero((next_delta == offset_delta + 1) & (data[following] != 0))
    at, which, offset_delta = at[keep], which[keep], offset_delta[keep]
    which, first = np.unique(which, return_index=True)
    return at[first], offset_delta[first], which


def _offset_delta(
    data: np.ndarray, at: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The offset delta of the record that may begin there, and its end; -1 where none can."""
    length, behind = read_varints(data, at)
    following = behind + length
    fits = (length >= MIN_RECORD_BYTES - 1) & (following < end)
    behind = np.where(fits, behind, at)
    _, behind = read_varints(data, behind + 1)
    offset_delta, _ = read_varints(data, np.minimum(behind, len(data) - 1))
    return offset_delta, np.where(fits, following, -1)
