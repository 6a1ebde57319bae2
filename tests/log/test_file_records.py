"""The batches of a file: whole or by their headers, up to a torn or damaged one."""

from pathlib import Path

import pytest

from kafkalite.log.file_records import read_batches
from kafkalite.log.files import Files
from kafkalite.log.open_files import LogFile, OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch


class CountingFiles(Files):
    """Counts the bytes that are read."""

    bytes_read = 0

    def pread(self, descriptor: int, size: int, position: int) -> bytes:
        data = super().pread(descriptor, size, position)
        self.bytes_read += len(data)
        return data


def batch(offset: int, size: int = 10) -> bytes:
    return build_batch([Record(value=bytes(size))], base_offset=offset)


def written(path: Path, *batches: bytes, files: Files | None = None) -> LogFile:
    path.write_bytes(b"".join(batches))
    return LogFile(path.parent, path.name, OpenFiles(files=files or Files()))


def found(file: LogFile, position: int, end: int, **options: bool) -> list[tuple[int, int]]:
    return [(at, batch.base_offset) for at, batch in read_batches(file, position, end, **options)]


@pytest.mark.parametrize("headers_only", [False, True])
def test_batches_come_in_order_with_their_positions(tmp_path: Path, headers_only: bool) -> None:
    batches = [batch(offset, size) for offset, size in ((0, 10), (5, 40_000), (6, 3 << 20), (9, 1))]
    starts = [sum(map(len, batches[:i])) for i in range(5)]
    file = written(tmp_path / "log", *batches)
    expected = list(zip(starts, (0, 5, 6, 9), strict=False))
    assert found(file, 0, starts[4], headers_only=headers_only) == expected
    assert found(file, starts[2], starts[4], headers_only=headers_only) == expected[2:]
    assert found(file, 0, starts[3], headers_only=headers_only) == expected[:3]
    assert found(file, starts[4], starts[4], headers_only=headers_only) == []


def test_whole_batches_have_all_their_bytes(tmp_path: Path) -> None:
    batches = [batch(0), batch(1, 3 << 20), batch(2)]
    file = written(tmp_path / "log", *batches)
    read = [bytes(each.buffer) for _, each in read_batches(file, 0, sum(map(len, batches)))]
    assert read == batches


def test_the_rest_of_big_batches_is_not_read_for_their_headers(tmp_path: Path) -> None:
    files = CountingFiles()
    batches = [batch(i, 4 << 20) for i in range(4)]
    file = written(tmp_path / "log", *batches, files=files)
    end = sum(map(len, batches))
    assert len(found(file, 0, end, headers_only=True)) == 4
    assert files.bytes_read < 100_000
    assert len(found(file, 0, end)) == 4
    assert files.bytes_read > end


@pytest.mark.parametrize("headers_only", [False, True])
def test_a_torn_last_batch_is_left_out(tmp_path: Path, headers_only: bool) -> None:
    whole, torn = batch(0), batch(1)
    for size in range(len(torn)):
        file = written(tmp_path / f"log-{size}", whole, torn[:size])
        assert found(file, 0, len(whole) + size, headers_only=headers_only) == [(0, 0)]
        if size:
            batches = read_batches(
                file, 0, len(whole) + size, headers_only=headers_only, must_be_whole=True
            )
            assert next(batches)[0] == 0
            with pytest.raises(KafkaError, match=f"the batch at position {len(whole)} is torn"):
                next(batches)


def test_a_file_that_is_shorter_than_its_end_says_ends_there(tmp_path: Path) -> None:
    file = written(tmp_path / "log", batch(0), batch(1)[:70])
    assert found(file, 0, 10_000) == [(0, 0)]


@pytest.mark.parametrize("headers_only", [False, True])
@pytest.mark.parametrize(
    ("position", "value"), [(16, b"\1"), (16, b"\3"), (8, b"\0\0\0\0"), (8, b"\xff\xff\xff\xff")]
)
def test_damage_is_told_where_a_batch_must_begin(
    tmp_path: Path, headers_only: bool, position: int, value: bytes
) -> None:
    damaged = bytearray(batch(1))
    damaged[position : position + len(value)] = value
    first = batch(0)
    file = written(tmp_path / "log", first, bytes(damaged), batch(2))
    batches = read_batches(file, 0, len(first) + 1000, headers_only=headers_only)
    assert next(batches)[0] == 0
    with pytest.raises(KafkaError, match=f"no batch begins at position {len(first)}") as caught:
        next(batches)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
