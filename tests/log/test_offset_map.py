"""The cleaner's map: the last offset of each key, for as many keys as it has room for."""

from kafkalite.log.offset_map import OffsetMap


def test_the_last_offset_of_a_key_counts() -> None:
    offsets = OffsetMap(10, first_dirty_offset=0)
    assert offsets.get(b"a") == -1
    for key, offset in ((b"a", 0), (b"b", 1), (b"a", 2), (b"", 3)):
        assert offsets.put(key, offset)
    assert [offsets.get(key) for key in (b"a", b"b", b"", b"c")] == [2, 1, 3, -1]


def test_long_keys_are_told_apart() -> None:
    offsets = OffsetMap(1000, first_dirty_offset=0)
    keys = [b"x" * size + end for size in (30, 31, 32, 33, 5000) for end in (b"", b"y", b"z")]
    for offset, key in enumerate(keys):
        offsets.put(key, offset)
    expected = {key: offset for offset, key in enumerate(keys)}
    assert {key: offsets.get(key) for key in keys} == expected


def test_a_full_map_takes_no_key() -> None:
    offsets = OffsetMap(2, first_dirty_offset=0)
    assert offsets.put(b"a", 0)
    assert offsets.put(b"a", 1)
    assert offsets.put(b"b", 2)
    assert not offsets.put(b"c", 3)
    assert [offsets.get(key) for key in (b"a", b"b", b"c")] == [1, 2, -1]


def test_records_before_the_dirty_part_are_older_than_all_in_the_map() -> None:
    assert OffsetMap(2, first_dirty_offset=17).latest_offset == 16
