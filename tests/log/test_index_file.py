"""An index's file: the same entries in memory and on the disk, appended to, searched and cut."""

import os
import random
import struct
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.log.files import FILES, Files
from kafkalite.log.index_file import IndexFile


class Pairs(IndexFile):
    """Two integers an entry."""

    layout = struct.Struct(">ii")


ENTRIES = [(0, 10), (3, 20), (3, 25), (7, 40), (12, 41)]


def filled(path: Path, entries: list[tuple[int, int]] = ENTRIES) -> Pairs:
    index = Pairs(path.parent, path.name, 0, FILES)
    for entry in entries:
        index.append_entry(*entry)
    return index


class Reading(Files):
    """Notes the size of each read."""

    def __init__(self, reads: list[int]) -> None:
        self._reads = reads

    def pread(self, descriptor: int, size: int, position: int) -> bytes:
        self._reads.append(size)
        return super().pread(descriptor, size, position)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.index"


def test_an_entry_that_cannot_be_read_whole_is_a_failure_of_the_disk(path: Path) -> None:
    index = filled(path)
    index.write()
    index.unload()
    os.truncate(path, path.stat().st_size - 3)
    assert index.entry(0) == ENTRIES[0]
    for look in (lambda: index.entry(-1), lambda: index.count_up_to(100)):
        with pytest.raises(OSError, match="ends within an entry"):
            look()


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_entries_are_found_in_memory_and_on_the_disk(path: Path, is_on_disk: bool) -> None:
    index = filled(path)
    if is_on_disk:
        index.write()
        index.unload()
    assert (index.count, index.size_bytes) == (5, 40)
    assert [index.entry(i) for i in range(5)] == ENTRIES
    assert (index.entry(-1), index.entry(-5)) == (ENTRIES[4], ENTRIES[0])
    assert index.search(2) == (0, 10)
    assert index.search(3) == (3, 25)
    assert index.search(100) == (12, 41)
    assert index.search(-1) is None
    assert [index.count_up_to(value, field=1) for value in (9, 10, 24, 41)] == [0, 1, 2, 5]


@given(
    steps=st.lists(st.sampled_from([0, 1, 2, 7, 1000, 10**6]), min_size=1, max_size=40),
    repeated=st.integers(1, 60),
    start=st.integers(0, 10**6),
    seed=st.integers(0, 2**32),
)
def test_a_search_on_the_disk_finds_the_same_however_uneven_the_values(
    steps: list[int], repeated: int, start: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = [start]
    for step in steps * repeated:
        values.append(min(values[-1] + step, 2**31 - 1))
    path = tmp_path_factory.mktemp("index") / "0.index"
    index = filled(path, [(value, i) for i, value in enumerate(values)])
    index.write()
    index.unload()
    some = random.Random(seed).choices(values, k=20)
    for value in {values[0] - 1, values[0], values[-1], values[-1] + 1, *some, some[0] + 1}:
        assert index.count_up_to(value) == bisect_right(values, value)
        i = bisect_right(values, value)
        assert index.search(value) == ((values[i - 1], i - 1) if i else None)


def test_a_search_in_a_large_index_reads_it_a_few_times(path: Path) -> None:
    rng = random.Random(1)
    values = [0]
    for _ in range(200_000):
        values.append(values[-1] + rng.randint(1, 9))
    index = filled(path, [(value, i) for i, value in enumerate(values)])
    index.write()
    index.unload()
    reads: list[int] = []
    files = Reading(reads)
    counted = Pairs(path.parent, path.name, 0, files)
    for value in rng.choices(values, k=100):
        reads.clear()
        assert counted.search(value) == index.search(value)
        assert len(reads) <= 6
        assert sum(reads) <= 8192


@pytest.mark.parametrize("damage", [b"\xff" * 8, b"\0" * 8])
def test_a_search_in_a_damaged_index_ends(path: Path, damage: bytes) -> None:
    index = filled(path, [(3 * i, i) for i in range(5000)])
    index.write()
    index.unload()
    data = bytearray(path.read_bytes())
    for i in range(0, len(data), 72):
        data[i : i + 8] = damage
    path.write_bytes(data)
    for value in range(-1, 15_001, 500):
        assert 0 <= index.count_up_to(value) <= 5000


def test_an_index_without_a_file_is_empty(path: Path) -> None:
    index = Pairs(path.parent, path.name, 0, FILES)
    assert (index.count, index.size_bytes) == (0, 0)
    assert index.search(5) is None
    assert not index.is_sound()
    index.load()
    assert index.count == 0


def test_only_new_entries_are_written(path: Path) -> None:
    index = filled(path, ENTRIES[:2])
    index.write()
    path.write_bytes(bytes(16))  # as a witness: these bytes are not written again
    index.append_entry(*ENTRIES[2])
    index.write()
    assert path.read_bytes() == bytes(16) + struct.pack(">ii", *ENTRIES[2])


def test_appending_goes_on_from_the_file(path: Path) -> None:
    filled(path, ENTRIES[:3]).write()
    index = Pairs(path.parent, path.name, 0, FILES)
    for entry in ENTRIES[3:]:
        index.append_entry(*entry)
    assert [index.entry(i) for i in range(5)] == ENTRIES
    index.write()
    assert path.read_bytes() == b"".join(struct.pack(">ii", *entry) for entry in ENTRIES)


@pytest.mark.slow
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_a_cut_index_s_file_has_what_is_left(
    tmp_path_factory: pytest.TempPathFactory, written: int, kept: int, added: int
) -> None:
    path = tmp_path_factory.mktemp("index") / "0.index"
    index = filled(path, ENTRIES[:written])
    index.write()
    for entry in ENTRIES[written:]:
        index.append_entry(*entry)
    index.keep(kept)
    new = [(100 + i, 100) for i in range(added)]
    for entry in new:
        index.append_entry(*entry)
    index.write()
    expected = ENTRIES[:kept] + new
    assert path.read_bytes() == b"".join(struct.pack(">ii", *entry) for entry in expected)
    assert index.count == len(expected)


def test_a_reset_index_starts_again(path: Path) -> None:
    filled(path).write()
    index = Pairs(path.parent, path.name, 0, FILES)
    index.reset()
    assert index.count == 0
    index.append_entry(1, 2)
    index.write()
    assert path.read_bytes() == struct.pack(">ii", 1, 2)


def test_unwritten_entries_are_lost_with_the_memory(path: Path) -> None:
    index = filled(path, ENTRIES[:2])
    index.write()
    index.append_entry(*ENTRIES[2])
    reopened = Pairs(path.parent, path.name, 0, FILES)
    assert reopened.count == 2


@pytest.mark.parametrize("extra", [0, 1, 7])
def test_half_an_entry_at_the_end_is_unsound_and_left_out(path: Path, extra: int) -> None:
    filled(path).write()
    path.write_bytes(path.read_bytes() + bytes(extra))
    index = Pairs(path.parent, path.name, 0, FILES)
    assert index.is_sound() is (extra == 0)
    index.load()
    assert index.count == 5


def test_a_renamed_index_is_written_to_its_new_name(path: Path, tmp_path: Path) -> None:
    index = filled(path, ENTRIES[:1])
    index.rename(tmp_path, "1.index")  # there is no file yet
    index.write()
    index.rename(tmp_path, "2.index")
    index.append_entry(*ENTRIES[1])
    index.write()
    assert [each.name for each in tmp_path.iterdir()] == ["2.index"]
    assert Pairs(tmp_path, "2.index", 0, FILES).count == 2
