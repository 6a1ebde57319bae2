"""Opening what a crash left: torn tails, damaged bytes, files half way in or out."""

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import segment_file
from kafkalite.log.open_files import FileSlice
from kafkalite.log.segment import LogSegment
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import iterate_batches
from tests.log.conftest import START_MS

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=50)


def filled(disk: Any, count: int = 20, config: LogConfig = SMALL) -> Any:
    log = disk.log(config=config)
    for i in range(count):
        disk.append(log, b"%03d" % i)
    return log


def log_file(disk: Any, base_offset: int) -> Path:
    return segment_file(disk.root / "topic-0", base_offset, ".log")


def expected(count: int) -> list[bytes]:
    return [b"%03d" % i for i in range(count)]


def index_files(disk: Any) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in (disk.root / "topic-0").iterdir()
        if path.suffix in (".index", ".timeindex", ".txnindex")
    }


@pytest.mark.slow
def test_every_prefix_of_the_file_opens(disk: Any, values: Any) -> None:
    """Cut at each byte: the whole batches are there, the torn one is not, and the log goes on."""
    filled(disk, 4, LogConfig()).close_files()
    path = log_file(disk, 0)
    whole = path.read_bytes()
    size = len(whole) // 4
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        log = disk.log()
        assert values(log) == expected(end // size)
        assert path.stat().st_size == end // size * size
        assert disk.append(log, b"next") == end // size
        assert values(log)[-1] == b"next"
        log.close_files()


@pytest.mark.parametrize("tail", [bytes(100), b"\xff" * 100, b"\0" * 61, b"garbage" * 30])
def test_garbage_behind_the_last_batch_is_cut(disk: Any, values: Any, tail: bytes) -> None:
    filled(disk, 4, LogConfig()).close_files()
    with log_file(disk, 0).open("ab") as file:
        file.write(tail)
    assert values(disk.log()) == expected(4)


def test_a_damaged_byte_ends_the_log_there(disk: Any, values: Any) -> None:
    """Everything behind a damaged batch in the unflushed part is removed, as in Kafka."""
    log = filled(disk)
    third = log.segments.base_offsets[2]
    log.close_files()
    path = log_file(disk, third)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    log = disk.log(config=SMALL)
    assert log.segments.active.base_offset == third
    count = log.log_end_offset
    assert values(log) == expected(count)
    assert third < count < 20
    assert disk.append(log, b"%03d" % count) == count
    assert values(log) == expected(count + 1)


def test_what_is_below_the_recovery_point_is_not_read(disk: Any, monkeypatch: Any) -> None:
    log = filled(disk)
    log.flush()
    flushed = log.recovery_point
    assert flushed == 20
    disk.append(log, b"x")
    log.close_files()
    scanned: list[int] = []
    batches = LogSegment.batches

    def watch(segment: LogSegment, *args: Any, **options: Any) -> Any:
        if not options.get("headers_only"):
            scanned.append(segment.base_offset)
        return batches(segment, *args, **options)

    monkeypatch.setattr(LogSegment, "batches", watch)
    log = disk.log(config=SMALL, recovery_point=flushed)
    assert log.log_end_offset == 21
    assert scanned == [base for base in log.segments.base_offsets if base + 3 > flushed]
    scanned.clear()
    log.close()
    disk.log(config=SMALL, clean_shutdown=True)
    assert scanned == []


def test_indexes_are_rebuilt_as_they_were(disk: Any) -> None:
    filled(disk).close()
    before = index_files(disk)
    for name in before:
        (disk.root / "topic-0" / name).unlink()
    disk.log(config=SMALL).close()
    assert index_files(disk) == before


@pytest.mark.parametrize("damage", ["missing", "odd size"])
def test_a_clean_log_with_a_damaged_index_is_repaired(disk: Any, values: Any, damage: str) -> None:
    log = filled(disk)
    second = log.segments.base_offsets[1]
    log.close()
    before = index_files(disk)
    index = segment_file(disk.root / "topic-0", second, ".index")
    if damage == "missing":
        index.unlink()
    else:
        index.write_bytes(index.read_bytes() + b"abc")
    log = disk.log(config=SMALL, clean_shutdown=True)
    assert values(log) == expected(20)
    log.close()
    assert index_files(disk) == before


def test_an_index_without_a_log_is_removed(disk: Any) -> None:
    filled(disk).close()
    stray = segment_file(disk.root / "topic-0", 999, ".index")
    stray.write_bytes(b"")
    disk.log(config=SMALL, clean_shutdown=True)
    assert not stray.exists()


def test_kafkas_preallocated_index_is_rebuilt(disk: Any, values: Any) -> None:
    """Kafka maps 10 MB of zeros and trims them at a clean shutdown only."""
    filled(disk).close_files()
    for path in (disk.root / "topic-0").glob("*index"):
        path.write_bytes(path.read_bytes() + bytes(10_485_760 // 12 * 12))
    log = disk.log(config=SMALL)
    assert values(log) == expected(20)
    log.close()
    assert all(len(data) < 1000 for data in index_files(disk).values())


def test_segments_end_before_the_log_start(disk: Any) -> None:
    filled(disk).close()
    log = disk.log(config=SMALL, log_start_offset=500)
    assert (log.log_start_offset, log.log_end_offset) == (500, 500)
    assert disk.append(log, b"x") == 500


def test_the_log_start_is_kept(disk: Any, values: Any) -> None:
    filled(disk).close()
    log = disk.log(config=SMALL, log_start_offset=7, clean_shutdown=True)
    assert log.log_start_offset == 7
    assert values(log) == expected(20)[7:]


# -- files on their way in or out


def copy_segment(
    disk: Any, base_offset: int, second_suffix: str, target: int | None = None
) -> None:
    directory = disk.root / "topic-0"
    for path in list(directory.glob(f"{base_offset:020d}.*")):
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            offset = base_offset if target is None else target
            shutil.copy(path, directory / f"{offset:020d}{path.suffix}{second_suffix}")


def test_deleted_and_cleaned_files_are_removed(disk: Any, values: Any) -> None:
    log = filled(disk)
    bases = log.segments.base_offsets
    log.close()
    copy_segment(disk, bases[0], ".deleted")
    copy_segment(disk, bases[1], ".cleaned")
    before = [name for name in disk.names() if name.count(".") <= 1]
    log = disk.log(config=SMALL)
    assert values(log) == expected(20)
    log.close()
    assert disk.names() == before


def test_a_swap_is_finished(disk: Any, values: Any) -> None:
    """A .swap is complete: the segments it covers are removed, whichever of them are still
    there."""
    log = filled(disk)
    bases = log.segments.base_offsets
    log.close()
    directory = disk.root / "topic-0"
    merged = b"".join(log_file(disk, base).read_bytes() for base in bases[:2])
    for base in bases[:2]:
        for suffix in (".log", ".index", ".timeindex"):
            segment_file(directory, base, suffix).rename(
                segment_file(directory, base, suffix, ".gone")
            )
    segment_file(directory, bases[0], ".log", ".swap").write_bytes(merged)
    # One of the replaced is still there, with other content.
    shutil.copy(
        segment_file(directory, bases[1], ".log", ".gone"),
        segment_file(directory, bases[1], ".log"),
    )
    for path in directory.glob("*.gone"):
        path.unlink()
    log = disk.log(config=SMALL)
    assert values(log) == expected(20)
    assert log.segments.base_offsets == [bases[0], *bases[2:]]
    assert not [name for name in disk.names() if name.endswith(".swap")]


def test_a_swap_beside_a_cleaned_file_had_only_begun(disk: Any, values: Any) -> None:
    log = filled(disk)
    bases = log.segments.base_offsets
    log.close()
    segment_file(disk.root / "topic-0", bases[0], ".log", ".swap").write_bytes(b"")
    segment_file(disk.root / "topic-0", bases[0], ".index", ".cleaned").write_bytes(b"")
    log = disk.log(config=SMALL)
    assert values(log) == expected(20)
    assert log.segments.base_offsets == bases
    assert not [name for name in disk.names() if name.endswith((".swap", ".cleaned"))]


def test_an_empty_directory_is_an_empty_log(disk: Any) -> None:
    log = disk.log()
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 0, 0)
    assert disk.names() == []
    log.close()
    assert disk.names() == []
    assert disk.log(clean_shutdown=True).log_end_offset == 0


@pytest.mark.parametrize(("position", "bit"), [(16, 0x01), (8, 0x40), (8, 0x80)])
def test_a_closed_log_whose_last_batches_are_damaged_is_not_opened_as_a_shorter_one(
    disk: Any, position: int, bit: int
) -> None:
    """Appends would give their offsets a second time."""
    log = filled(disk, 4, LogConfig())
    size = log.size_bytes // 4
    log.close()
    path = log_file(disk, 0)
    data = bytearray(path.read_bytes())
    data[2 * size + position] ^= bit
    path.write_bytes(data)
    with pytest.raises(KafkaError, match=f"position {2 * size}") as caught:
        disk.log(clean_shutdown=True)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert path.read_bytes() == bytes(data)


@pytest.mark.parametrize("entry", [(0, -8), (0, 10**9), (0, 3), (0, 150), (-7, 100)])
def test_a_damaged_entry_of_the_offset_index_hides_no_record(
    disk: Any, values: Any, entry: tuple[int, int]
) -> None:
    """It has no checksum, and nobody repairs it: below the recovery point nothing is scanned."""
    log = filled(disk)
    second = log.segments.base_offsets[1]
    log.close()
    index = segment_file(disk.root / "topic-0", second, ".index")
    index.write_bytes(struct.pack(">ii", *entry) * 5)
    log = disk.log(config=SMALL, clean_shutdown=True)
    assert values(log) == expected(20)
    for offset in range(20):
        found = log.read(offset, 1 << 20, upper_bound=log.log_end_offset)
        assert isinstance(found.records, FileSlice)
        first = next(iterate_batches(found.records.read()))
        assert (first.base_offset, first.is_valid()) == (offset, True)
    assert log.offset_for_timestamp(START_MS) == (START_MS, 0, 0)


def test_a_damaged_entry_of_the_last_segment_s_index_does_not_hide_its_end(
    disk: Any, values: Any
) -> None:
    log = filled(disk)
    log.close()
    last = log.segments.active
    index = segment_file(disk.root / "topic-0", last.base_offset, ".index")
    index.write_bytes(struct.pack(">ii", 1, 2**31 - 1))
    log = disk.log(config=SMALL, clean_shutdown=True)
    assert (log.log_end_offset, values(log)) == (20, expected(20))


def cut_last_batch(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: next(iterate_batches(data)).size_bytes])


@pytest.mark.parametrize("known", [{"recovery_point": None}, {"cleaned_up_to": 20}])
def test_a_gap_that_kafka_s_compaction_left_is_no_loss(
    disk: Any, values: Any, known: dict[str, Any]
) -> None:
    """Nothing is missing between the offsets of either segment, only between the segments."""
    log = filled(disk)
    first, second = log.segments.base_offsets[:2]
    log.close_files()
    cut_last_batch(log_file(disk, first))
    left = [b"000", *expected(20)[second:]]
    log = disk.log(config=SMALL, **known)
    assert (log.log_end_offset, values(log)) == (20, left)
    log.close()
    assert values(disk.log(config=SMALL, clean_shutdown=True)) == left


def test_a_gap_after_the_recovery_point_is_a_loss(disk: Any, values: Any) -> None:
    log = filled(disk)
    first = log.segments.base_offsets[0]
    log.close_files()
    cut_last_batch(log_file(disk, first))
    assert values(disk.log(config=SMALL)) == [b"000"]


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_index_that_is_built_again_costs_nothing_behind_it(
    disk: Any, values: Any, is_clean: bool
) -> None:
    """Not even where the batches of its segment are damaged, or all gone."""
    log = filled(disk)
    log.flush()
    (first, second, third), end = log.segments.base_offsets[:3], log.log_end_offset
    log.close() if is_clean else log.close_files()
    for base in (first, second):
        segment_file(disk.root / "topic-0", base, ".index").unlink()
    data = bytearray(log_file(disk, first).read_bytes())
    data[-1] ^= 1
    log_file(disk, first).write_bytes(data)
    log_file(disk, second).write_bytes(b"")
    log = disk.log(config=SMALL, recovery_point=end, clean_shutdown=is_clean)
    assert values(log) == [*expected(second - 1), *expected(20)[third:]]
    assert disk.append(log, b"x") == 20


@pytest.mark.parametrize("tail", [bytes(3), bytes(5000), b"\xff" * 80, b"garbage" * 30])
def test_what_is_behind_all_that_was_closed_is_cut(disk: Any, values: Any, tail: bytes) -> None:
    """Nothing that the last broker had is lost: it was at the checkpointed end."""
    filled(disk, 4, LogConfig()).close()
    with log_file(disk, 0).open("ab") as file:
        file.write(tail)
    with pytest.raises(KafkaError, match="kafka_cleanshutdown"):
        disk.log(clean_shutdown=True, recovery_point=5)
    with pytest.raises(KafkaError):
        disk.log(clean_shutdown=True, recovery_point=None)
    log = disk.log(clean_shutdown=True, recovery_point=4)
    assert values(log) == expected(4)
    assert disk.append(log, b"x") == 4
    assert values(log) == [*expected(4), b"x"]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_segment_within_another_does_not_end_the_log(
    disk: Any, values: Any, is_empty: bool
) -> None:
    filled(disk, 4, LogConfig()).close_files()
    data = b"" if is_empty else log_file(disk, 0).read_bytes()
    log_file(disk, 2).write_bytes(data)
    log = disk.log()
    assert values(log) == expected(4)
    assert disk.append(log, b"x") == 4
    assert not log_file(disk, 2).exists()


def test_a_segment_whose_name_is_too_low_is_read(disk: Any, values: Any) -> None:
    log = filled(disk)
    last = log.segments.active.base_offset
    log.close_files()
    log_file(disk, last).rename(log_file(disk, last - 1))
    assert disk.log(config=SMALL).log_end_offset == 20
