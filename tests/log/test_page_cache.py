"""Reading what is not in the page cache is refused, and then waited for in a thread."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from kafkalite.log import page_cache
from kafkalite.log.files import FILES
from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.log.page_cache import NotCached, cached_only

MB = 1 << 20
SIZE = 256 * MB  # with places so far apart that the kernel does not read ahead from one to the next


@pytest.fixture
def file(tmp_path: Path) -> LogFile:
    """Large enough not to be read whole at a touch; nothing of it is in the page cache. Mostly a
    hole."""
    path = tmp_path / "file"
    with path.open("wb") as written:
        for megabytes in range(0, SIZE // MB, 32):
            written.seek(megabytes * MB)
            written.write(bytes(range(256)))
        written.truncate(SIZE)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    for _ in range(3):  # pages that are in use just then stay
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        time.sleep(0.02)
    is_cached = page_cache.is_cached(descriptor, 100, SIZE // 2)
    os.close(descriptor)
    if is_cached:
        pytest.skip(f"the file system of {tmp_path} does not tell what is cached")
    return LogFile(path, OpenFiles())


def test_what_is_not_cached_is_not_read(file: LogFile) -> None:
    with cached_only, pytest.raises(NotCached):
        file.pread(100, 64 * MB)


def test_the_end_of_an_inner_block_is_not_that_of_the_outer_one(file: LogFile) -> None:
    with cached_only:
        with cached_only:
            pass
        with pytest.raises(NotCached):
            file.pread(100, 64 * MB)
    assert len(file.pread(100, 64 * MB)) == 100


def test_it_is_read_after_it_was_waited_for(file: LogFile) -> None:
    with cached_only:
        with pytest.raises(NotCached) as missing:
            file.pread(100, 64 * MB)
        missing.value.read()
        assert file.pread(100, 64 * MB) == bytes(range(100))


def test_the_file_may_be_closed_before_it_is_waited_for(file: LogFile) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for megabytes in (32, 64, 96):  # each touch has the disk begin to read what is near
        with cached_only, pytest.raises(NotCached) as missing:
            file.pread(100, megabytes * MB)
        file.close()
        del missing
    with cached_only, pytest.raises(NotCached) as missing:
        file.pread(100, 192 * MB)
    file.close()
    missing.value.read()
    with cached_only:
        assert len(file.pread(100, 192 * MB)) == 100
    file.close()
    del missing
    assert len(os.listdir("/proc/self/fd")) == before


def test_elsewhere_reads_wait(file: LogFile) -> None:
    found: list[bytes] = []
    with cached_only:
        thread = threading.Thread(target=lambda: found.append(file.pread(100, 64 * MB)))
        thread.start()
        thread.join(30)
    assert len(found) == 1
    assert len(file.pread(100, 128 * MB)) == 100


def test_a_slice_knows_what_is_cached_of_it(file: LogFile) -> None:
    with FileSlice(file, 32 * MB, 100) as records:
        assert records.read_cached() is None
    with FileSlice(file, 64 * MB, 33 * MB) as records:
        assert not records.is_cached(MB)
        records.read_ahead(MB)
        assert records.is_cached(MB)
        records.advance(32 * MB)
        assert len(records) == MB
        assert not records.is_cached(MB)
        records.read_ahead(MB)
        assert records.read_cached() == records.read()


def test_a_file_that_ends_is_no_reason_to_wait(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"0123456789")
    descriptor = FILES.open(path, os.O_RDONLY)
    with cached_only:
        assert FILES.pread(descriptor, 100, 5) == b"56789"
        assert FILES.pread(descriptor, 100, 50) == b""
        assert page_cache.is_cached(descriptor, 100, 50)
    FILES.close(descriptor)


def test_a_file_system_that_cannot_tell(file: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> int:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "preadv", unsupported)
    with cached_only:
        assert len(file.pread(100, 64 * MB)) == 100
    assert page_cache.is_cached(file.descriptor(), 100, 128 * MB)
