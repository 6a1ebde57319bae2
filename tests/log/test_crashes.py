"""A crash at every file operation: failed, written short, or the power gone with all that was not
synced.

One long story (appends with two producers, a transaction, rolls, flushes, checkpoints, retention,
deleted records, compaction, close) is told again and again; the n-th file operation goes wrong, n =
1, 2, 3, ... What is found afterwards must be the beginning of what was appended, no shorter than
what was flushed.
"""

import errno
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kafkalite.log.cleaner import cleanable_part
from kafkalite.log.compaction import CleaningAborted, Compaction
from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records
from tests.log.faults import Crash, FaultyFiles, PowerlessFiles, PromptFiles

NOW_MS = 1_700_000_000_000


class Story:
    """The operations on a log, and the records that its reader may expect."""

    def __init__(self, root: Path, files: Files, *, compact: bool) -> None:
        self.root = root
        self.config = LogConfig(
            segment_bytes=500,
            index_interval_bytes=100,
            retention_bytes=-1 if compact else 1200,
            cleanup_policy=("compact",) if compact else ("delete",),
            file_delete_delay_ms=0,
            delete_retention_ms=10**12,
        )
        self.compact = compact
        self.open_files = OpenFiles(limit=16, files=files)
        self.records: dict[int, tuple[bytes | None, bytes | None]] = {}
        # The checkpoints that a LogDirectory would have written.
        self.recovery_point = 0
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.log: Log | None = None
        self.failed_offset = -1

    def tell(self) -> None:
        """The whole story. Errors of the disk are answered as a broker would: the next step
        comes."""
        for step in self.steps():
            try:
                step()
            except (KafkaError, OSError, CleaningAborted):
                if self.log is not None and self.log.offline_reason is not None:
                    self.log.close_files()
                    return

    def steps(self) -> Iterator[Callable[[], None]]:
        yield self.open
        if self.log is None:
            return
        for i in range(14):
            yield lambda i=i: self.append(i, 1 + i % 3)
        yield self.flush
        yield lambda: self.append(20, 1, transactional=True)
        for i in range(21, 25):
            yield lambda i=i: self.append(i, 2)
        yield lambda: self.end(commit=False)
        yield self.clean
        yield self.retain
        for i in range(25, 32):
            yield lambda i=i: self.append(i, 1)
        yield self.flush
        yield self.delete_records
        yield self.retain
        yield self.clean
        for i in range(32, 38):
            yield lambda i=i: self.append(i, 1)
        yield self.close

    def open(self) -> None:
        self.log = open_log(
            self.root / "t-0", self.config, now_ms=lambda: NOW_MS, open_files=self.open_files
        )

    def append(self, i: int, count: int, *, transactional: bool = False) -> None:
        log = self.log
        assert log is not None
        pairs = [(b"key-%d" % ((i + j) % 5), b"%d.%d" % (i, j) * 5) for j in range(count)]
        entry = log.producer_state.producers.get(7)
        records = build_batch(
            [Record(timestamp=NOW_MS + i, key=key, value=value) for key, value in pairs],
            producer_id=8 if transactional else 7,
            producer_epoch=0,
            base_sequence=0 if transactional or entry is None else entry.last_sequence + 1,
            is_transactional=transactional,
        )
        expected = {log.log_end_offset + j: pair for j, pair in enumerate(pairs)}
        self.failed_offset = log.log_end_offset
        failed, self.records = self.records, self.records | expected
        try:
            log.append(records, leader_epoch=i // 10)
        except KafkaError:
            # Not acknowledged: it must not be seen now; after a crash it may be there, wholly.
            if log.offline_reason is None:
                self.records = failed
            raise
        self.appended()

    def appended(self) -> None:
        assert self.log is not None
        self.log_end_offset = self.log.log_end_offset
        self.log.advance_high_watermark(self.log_end_offset)

    def end(self, *, commit: bool) -> None:
        log = self.log
        assert log is not None
        if 8 not in log.producer_state.producers:
            return
        self.records[log.log_end_offset] = (None, None)
        log.append(
            build_end_transaction_marker(
                producer_id=8,
                producer_epoch=0,
                commit=commit,
                coordinator_epoch=0,
                timestamp=NOW_MS,
            ),
            leader_epoch=2,
            origin=AppendOrigin.COORDINATOR,
        )
        self.appended()

    def flush(self) -> None:
        assert self.log is not None
        self.log.flush()
        self.recovery_point = self.log.recovery_point
        self.log_start_offset = self.log.log_start_offset

    def retain(self) -> None:
        assert self.log is not None
        self.log.retain()

    def delete_records(self) -> None:
        if not self.compact:
            assert self.log is not None
            self.log.delete_records_before(min(30, self.log.high_watermark))

    def clean(self) -> None:
        log = self.log
        assert log is not None
        if self.compact:
            part = cleanable_part(log, None)
            with closing(
                Compaction(log, part.first_dirty_offset, part.first_uncleanable_offset, 1000).run()
            ) as run:
                for step in run:
                    if step.work is not None:
                        step.work()

    def close(self) -> None:
        assert self.log is not None
        self.log.close()
        self.recovery_point = self.log.recovery_point

    def check(self, root: Path) -> None:
        """Open what is left, as after a crash, and compare."""
        recovery_point = min(self.recovery_point, self.log_end_offset)
        log = open_log(
            root / "t-0",
            self.config,
            now_ms=lambda: NOW_MS,
            open_files=OpenFiles(files=PromptFiles()),
            recovery_point=recovery_point,
            log_start_offset=self.log_start_offset,
        )
        found: dict[int, tuple[bytes | None, bytes | None]] = {}
        for segment in log.segments:
            if not segment.size:
                continue
            for batch in iterate_batches(segment.file.pread(segment.size, 0)):
                assert batch.is_valid()
                for record in iterate_records(batch):
                    assert record.offset not in found, "an offset came twice"
                    is_control = batch.is_control
                    found[record.offset] = (None, None) if is_control else record[2:4]
        end = log.log_end_offset
        assert end >= recovery_point, "what was flushed is gone"
        assert found.items() <= self.records.items(), "records that nobody wrote"
        expected = {o: pair for o, pair in self.records.items() if log.log_start_offset <= o < end}
        if self.compact:
            assert table(found) == table(expected)
        else:
            in_log = {o: pair for o, pair in found.items() if o >= log.log_start_offset}
            assert in_log == expected
        self.go_on(log, root)

    def go_on(self, log: Log, root: Path) -> None:
        """The log takes more, and is the same when it is opened again after that."""
        end = log.log_end_offset
        info = log.append(
            build_batch([Record(timestamp=NOW_MS, key=b"k", value=b"more")]), leader_epoch=9
        )
        assert info.base_offset == end
        log.close()
        again = open_log(
            root / "t-0",
            self.config,
            now_ms=lambda: NOW_MS,
            clean_shutdown=True,
            log_start_offset=log.log_start_offset,
        )
        assert again.log_end_offset == end + 1
        assert again.producer_state.producers.keys() == log.producer_state.producers.keys()
        again.close_files()
        left = [p.name for p in (root / "t-0").iterdir() if p.suffix in (".cleaned", ".swap")]
        assert left == []


def table(records: dict[int, tuple[bytes | None, bytes | None]]) -> dict[bytes, bytes | None]:
    # key-0 of the aborted transaction (batch 20) does not count.
    return {
        key: value
        for _, (key, value) in sorted(records.items())
        if key is not None and not (value or b"").startswith(b"20.")
    }


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: nothing here asks what a real disk does."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as path:
        yield Path(path)


def count_operations(memory: Path, *, compact: bool) -> int:
    files = FaultyFiles()
    story = Story(memory / "whole", files, compact=compact)
    story.tell()
    story.check(memory / "whole")
    return files.count


def no_space(size: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def broken(size: int) -> int:
    raise OSError(errno.EIO, "Input/output error")


def short(size: int) -> int:
    return size // 2


FAULTS = {"no space": no_space, "broken disk": broken, "short write": short}


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True], ids=["delete", "compact"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_nth_operation_fails(memory: Path, fault: str, compact: bool) -> None:
    count = count_operations(memory, compact=compact)
    assert count > 100
    for n in range(1, count + 1):
        root = memory / "disk"
        files = FaultyFiles()
        files.fail_at, files.fault = n, FAULTS[fault]
        story = Story(root, files, compact=compact)
        story.tell()
        try:
            story.check(root)
        except BaseException as error:
            error.add_note(f"operation {n} of {count}")
            raise
        shutil.rmtree(root)


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True], ids=["delete", "compact"])
def test_the_process_dies_at_the_nth_operation(memory: Path, compact: bool) -> None:
    count = count_operations(memory, compact=compact)
    for n in range(1, count + 1):
        root = memory / "disk"
        files = FaultyFiles()
        files.fail_at, files.fault = n, files.die
        story = Story(root, files, compact=compact)
        with pytest.raises(Crash):
            story.tell()
        files.close_all()
        if (root / "t-0").exists():
            story.check(root)
            shutil.rmtree(root)


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True], ids=["delete", "compact"])
def test_the_power_goes_at_the_nth_operation(memory: Path, compact: bool) -> None:
    count = count_operations(memory, compact=compact)
    for n in range(1, count + 1):
        root = memory / "disk"
        files = PowerlessFiles()
        files.fail_at, files.fault = n, files.die
        story = Story(root, files, compact=compact)
        with pytest.raises(Crash):
            story.tell()
        for seed in range(3):
            found = memory / f"found-{seed}"
            (found / "t-0").mkdir(parents=True)
            files.lose_power(root, found, random.Random(1000 * n + seed))
            try:
                story.check(found)
            except BaseException as error:
                error.add_note(f"operation {n} of {count}, seed {seed}")
                raise
            shutil.rmtree(found)
        files.close_all()
        shutil.rmtree(root, ignore_errors=True)
