"""Reading what is not in the page cache is refused, and then waited for in a thread."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kafkalite.log import page_cache
from kafkalite.log.files import FILES
from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.log.page_cache import NotCached, cached_only

MB = 1 << 20
SIZE = 256 * MB  # with places so far apart that the kernel does not read ahead from one to the next
PLACES = range(0, SIZE, 32 * MB)
PATIENCE_SECONDS = 10


@pytest.fixture
def file() -> Iterator[LogFile]:
    """Large enough not to be read whole at a touch. Mostly a hole.

    It lies where temporary files are kept on a disk: other temporary files may be in memory, where
    there is nothing to wait for.
    """
    with TemporaryDirectory(dir="/var/tmp") as directory:
        path = Path(directory) / "file"
        with path.open("wb") as written:
            for place in PLACES:
                written.seek(place)
                written.write(bytes(range(256)))
            written.truncate(SIZE)
            os.fsync(written.fileno())
        yield LogFile(path.parent, path.name, OpenFiles())


class SlowDisk:
    """`os.preadv` of a kernel that has nothing of a file in memory but what was waited for.

    The kernel's own starts to read what it refuses, and a quick disk has it there before the call
    returns: whether a read is refused is then a matter of luck.
    """

    def __init__(self) -> None:
        self._preadv = os.preadv
        self._read: set[int] = set()  # megabytes

    def preadv(
        self, descriptor: int, buffers: Sequence[bytearray], position: int, flags: int = 0
    ) -> int:
        end = position + max(1, sum(map(len, buffers)))
        asked = set(range(position // MB, (end - 1) // MB + 1))
        if not flags:
            self._read |= asked
        elif asked - self._read:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return self._preadv(descriptor, buffers, position, flags)

    def pread(self, descriptor: int, size: int, position: int) -> bytes:
        buffer = bytearray(size)
        return bytes(buffer[: self.preadv(descriptor, (buffer,), position)])


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk()
    monkeypatch.setattr(os, "preadv", disk.preadv)
    monkeypatch.setattr(os, "pread", disk.pread)


def refusals(read: Callable[[int], object], places: Sequence[int]) -> int:
    """The number of reads that would have had to wait for the disk."""
    count = 0
    for place in places:
        try:
            read(place)
        except (BlockingIOError, NotCached):
            count += 1
    return count


def test_the_kernel_tells_what_is_not_cached(file: LogFile) -> None:
    """Now and then at least: the disk may be quick."""

    def ask_kernel(place: int) -> int:
        return os.preadv(file.descriptor(), (bytearray(100),), place, os.RWF_NOWAIT)

    def ask(place: int) -> None:
        with cached_only:
            assert file.pread(100, place) == bytes(range(100))

    by_kernel = ours = 0
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not ours and time.monotonic() < give_up:
        os.posix_fadvise(file.descriptor(), 0, 0, os.POSIX_FADV_DONTNEED)
        by_kernel += refusals(ask_kernel, PLACES[::2])
        ours += refusals(ask, PLACES[1::2])
    if not by_kernel and not ours:
        # All bytes count as cached there; the tests with a slow disk hold the rest.
        pytest.skip("the file system does not tell what is cached")
    assert ours


@pytest.mark.usefixtures("slow_disk")
def test_what_is_not_cached_is_not_read(file: LogFile) -> None:
    with cached_only, pytest.raises(NotCached):
        file.pread(100, 64 * MB)


@pytest.mark.usefixtures("slow_disk")
def test_the_end_of_an_inner_block_is_not_that_of_the_outer_one(file: LogFile) -> None:
    with cached_only:
        with cached_only:
            pass
        with pytest.raises(NotCached):
            file.pread(100, 64 * MB)
    assert len(file.pread(100, 64 * MB)) == 100


@pytest.mark.usefixtures("slow_disk")
def test_it_is_read_after_it_was_waited_for(file: LogFile) -> None:
    with cached_only:
        with pytest.raises(NotCached) as missing:
            file.pread(100, 64 * MB)
        missing.value.read()
        assert file.pread(100, 64 * MB) == bytes(range(100))


@pytest.mark.usefixtures("slow_disk")
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


@pytest.mark.usefixtures("slow_disk")
def test_elsewhere_reads_wait(file: LogFile) -> None:
    found: list[bytes] = []
    with cached_only:
        thread = threading.Thread(target=lambda: found.append(file.pread(100, 64 * MB)))
        thread.start()
        thread.join(30)
    assert len(found) == 1
    assert len(file.pread(100, 128 * MB)) == 100


@pytest.mark.usefixtures("slow_disk")
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
