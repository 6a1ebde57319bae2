"""The cleaner's map: the last offset of each key, for as many keys as it has room for."""

from kafkalite.log.offset_map import OffsetMap
from kafkalite.log.record_scan import ScannedRecord


def record(offset_delta: int, key: bytes | None, *, has_value: bool = True) -> ScannedRecord:
    return (offset_delta, 0, key, 0 if has_value else -1, 0, 0, 0)


def records(*keys: bytes | None) -> list[ScannedRecord]:
    return [record(i, key) for i, key in enumerate(keys)]


def test_the_last_offset_of_a_key_counts() -> None:
    offsets = OffsetMap(10, first_dirty_offset=0)
    assert offsets.get(b"a") == -1
    assert offsets.put(records(b"a", b"b"), 0)
    assert offsets.put(records(b"a", None, b""), 2)
    assert [offsets.get(key) for key in (b"a", b"b", b"", b"c")] == [2, 1, 4, -1]


def test_long_keys_are_told_apart() -> None:
    offsets = OffsetMap(1000, first_dirty_offset=0)
    sizes = (30, 31, 32, 33, 62, 63, 64, 65, 66, 5000)
    keys = [b"x" * size + end for size in sizes for end in (b"", b"y", b"z")]
    assert offsets.put(records(*keys), 0)
    assert {key: offsets.get(key) for key in keys} == {key: i for i, key in enumerate(keys)}


def test_a_full_map_takes_no_key() -> None:
    offsets = OffsetMap(2, first_dirty_offset=0)
    assert offsets.put(records(b"a", b"a"), 0)
    assert offsets.put(records(b"b"), 2)
    assert not offsets.put(records(b"c"), 3)
    assert [offsets.get(key) for key in (b"a", b"b", b"c")] == [1, 2, -1]


def test_records_before_the_dirty_part_are_not_noted() -> None:
    offsets = OffsetMap(2, first_dirty_offset=17)
    assert offsets.latest_offset == 16
    assert offsets.put(records(b"a", b"b"), 16)
    assert [offsets.get(key) for key in (b"a", b"b")] == [-1, 17]


def test_the_last_of_each_key_is_still_valid() -> None:
    offsets = OffsetMap(10, first_dirty_offset=0)
    assert offsets.put(records(b"a", b"b", b"a"), 0)
    offsets.latest_offset = 2
    some = [record(0, b"a"), record(1, b"b", has_value=False), record(2, b"a"), record(3, b"b")]

    def kept(*records: ScannedRecord, keeps_tombstones: bool = True) -> list[int]:
        found = offsets.still_valid(records, 0, keeps_tombstones=keeps_tombstones)
        return [each[0] for each in found]

    assert kept(*some) == [1, 2, 3]
    assert kept(*some, keeps_tombstones=False) == [2, 3]
    # Records without a key go, unless the round did not come so far.
    assert kept(record(2, None), record(3, None), record(4, b"new")) == [3, 4]
