"""The cleaner chooses logs and their cleanable parts, remembers, and leaves damaged logs alone."""

import shutil
from collections.abc import Iterator
from errno import ENOSPC
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log import cleaner as cleaner_module
from kafkalite.log import directory_checkpoints
from kafkalite.log.cleaner import Cleaner, Throttle, cleanable_part
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import run_steps
from kafkalite.log.files import CLEANER_CHECKPOINT
from kafkalite.log.log import Log
from tests.log.compacted import COMPACT, end, put
from tests.log.conftest import Disk, read_all
from tests.log.directories import opened
from tests.log.many_logs import MANY, MOST_SECONDS, empty, fill, longest_step_seconds
from tests.log.many_segments import COUNT, counted, many_segments


def test_an_open_transaction_stops_the_cleaner(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(10):
        put(disk, log, (b"a", b"%d" % i))
    log.roll()
    put(
        disk,
        log,
        (b"a", b"t"),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    log.roll()
    put(disk, log, (b"a", b"last"))
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 10
    end(disk, log, 1, commit=True)
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 13


def test_when_a_log_is_due(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(20):
        put(disk, log, (b"a", b"%d" % i))
    part = cleanable_part(log, 0)
    assert part.is_due
    assert part.ratio == 1.0
    half = log.segments.base_offsets[2]
    log.config = LogConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9)
    assert not cleanable_part(log, half).is_due
    log.config = LogConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9, max_compaction_lag_ms=1000
    )
    assert not cleanable_part(log, half).is_due
    disk.now_ms += 1001
    assert cleanable_part(log, half).is_due
    log.config = LogConfig(cleanup_policy=("compact",), min_compaction_lag_ms=2000)
    assert not cleanable_part(log, 0).is_due
    disk.now_ms += 1000
    assert cleanable_part(log, 0).is_due
    assert not cleanable_part(log, log.segments.active.base_offset).is_due


def test_the_cleaner_remembers_and_goes_on(tmp_path: Path, disk: Any) -> None:
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)
    compacted = directory.open_log("compacted", 3, COMPACT)
    plain = directory.open_log("plain", 0, LogConfig(segment_bytes=400))
    for i in range(30):
        for log in (compacted, plain):
            put(disk, log, (b"k", b"%d" % i))
    cleaner = Cleaner([directory])
    assert run_to_end(cleaner)
    end_offset = compacted.segments.active.base_offset
    text = (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert text == f"0\n1\ncompacted 3 {end_offset}\n"
    assert compacted.size_bytes < plain.size_bytes / 3
    assert not run_to_end(Cleaner([directory]))
    directory.close()


# The byte of a batch, from its start, and the bit that is flipped in it.
FLIPS = {
    "magic": (16, 0x01),
    "length, by one": (11, 0x01),
    "length, too long": (8, 0x40),
    "length, negative": (8, 0x80),
    "a record": (70, 0x01),
}


def flip(log: Log, segment: int, batch: int, kind: str) -> None:
    """Flip a bit in a batch of a segment, on the disk only."""
    damaged = list(log.segments)[segment]
    position = [at for at, _ in damaged.batches()][batch]
    path = damaged.file.path
    data = bytearray(path.read_bytes())
    offset, bit = FLIPS[kind]
    data[position + offset] ^= bit
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("opens", [False, True], ids=["running", "opening"])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (1, 2)], ids=str)
@pytest.mark.parametrize("kind", FLIPS)
def test_a_damaged_log_is_left_alone_and_the_others_are_cleaned(
    tmp_path: Path,
    disk: Disk,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    place: tuple[int, int],
    opens: bool,
) -> None:
    def opened() -> LogDirectory:
        return LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)

    directory = opened()
    logs = [directory.open_log("t", i, COMPACT) for i in range(3)]
    for i in range(30):
        for log in logs:
            put(disk, log, (b"k%d" % (i % 3), b"%d" % i))
    assert len(logs[1].segments) > 3
    flip(logs[1], *place, kind)
    if opens:
        directory.close()
        directory = opened()
        logs = [directory.open_log("t", i, COMPACT) for i in range(3)]
    before = {path.name: path.read_bytes() for path in logs[1].directory.glob("*.log")}
    caplog.clear()

    cleaner = Cleaner([directory])
    for _ in range(3):
        while run_to_end(cleaner):
            pass

    assert cleaner.uncleanable == {("t", 1)}
    [said] = [each.getMessage() for each in caplog.records]
    assert said.startswith("t-1: not cleaned any more: ")
    for log in (logs[0], logs[2]):
        assert log.size_bytes < logs[1].size_bytes / 2
    # Nothing of the damaged log is lost, and it goes on.
    after = {path.name: path.read_bytes() for path in logs[1].directory.glob("*.log")}
    assert after == before
    assert logs[1].offline_reason is None
    assert put(disk, logs[1], (b"k", b"more")) == 30
    directory.close()


def run_to_end(cleaner: Cleaner) -> bool:
    run = cleaner.clean()
    while True:
        try:
            step = next(run)
        except StopIteration as stop:
            return stop.value
        if step.work is not None:
            step.work()


def test_throttle() -> None:
    throttle = Throttle(100.0, now=0.0)
    assert throttle.wait_s(50, now=0.0) == pytest.approx(0.5)
    assert throttle.wait_s(50, now=0.5) == pytest.approx(0.5)
    assert throttle.wait_s(0, now=5.0) == 0.0
    assert throttle.wait_s(100, now=5.0) == pytest.approx(1.0)


def test_to_choose_among_very_many_logs_takes_small_steps(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        fill(directory, LogConfig(cleanup_policy=("compact",)))
        cleaner = Cleaner([directory])
        count, longest = longest_step_seconds(cleaner.clean())
        assert count >= MANY
        assert longest < MOST_SECONDS
        empty(directory)


@pytest.mark.parametrize("is_asked_for", [False, True])
def test_a_checkpoint_of_many_logs_is_not_written_for_each(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, is_asked_for: bool
) -> None:
    """`is_asked_for`: all are cleaned, due or not. While there are more it is written each
    second."""
    now, written = [100.0], list[Any]()
    monkeypatch.setattr(
        directory_checkpoints, "write_offsets", lambda *_, sync: written.append(_[2])
    )
    monkeypatch.setattr(cleaner_module, "monotonic", lambda: now[0])
    with opened(tmp_path) as directory:
        for number in range(5):
            log = directory.open_log("t", number, COMPACT)
            for i in range(30):
                put(disk, log, (b"k", b"%d" % i))
        cleaner = Cleaner([directory])
        if is_asked_for:
            run_steps(cleaner.clean_all())
            assert [len(offsets) for offsets in written] == [5]
            return
        counts: list[list[int]] = []
        for is_cleaned, _ in count_steps(cleaner):
            counts.append([len(offsets) for offsets in written])
            now[0] += 0.6
            if not is_cleaned:
                break
        assert counts == [[1], [1], [1, 3], [1, 3], [1, 3, 5], [1, 3, 5]]


def test_a_checkpoint_that_a_full_disk_refused_is_written_later(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, sync: bool) -> None:
        raise OSError(ENOSPC, "full")

    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, COMPACT)
        for i in range(30):
            put(disk, log, (b"k", b"%d" % i))
        cleaner = Cleaner([directory])
        with monkeypatch.context() as full:
            full.setattr(directory_checkpoints, "write_offsets", refuse)
            assert run_to_end(cleaner)
        path = tmp_path / CLEANER_CHECKPOINT
        assert not path.exists()
        assert not run_to_end(cleaner)
        assert path.read_text() == f"0\n1\nt 0 {log.segments.active.base_offset}\n"


def fill_some(disk: Disk, directory: LogDirectory, count: int) -> None:
    for number in range(count):
        log = directory.open_log("t", number, COMPACT)
        for i in range(30):
            put(disk, log, (b"k", b"%d" % i))


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_is_cleaned_is_known_after_a_stop(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """Within the second in which the cleaner does not write; a periodic checkpoint does, too."""
    monkeypatch.setattr(cleaner_module, "monotonic", lambda: 100.0)
    with opened(tmp_path) as directory:
        fill_some(disk, directory, 5)
        run = count_steps(Cleaner([directory]))
        assert [next(run)[0] for _ in range(3)] == [True, True, True]
        path = tmp_path / CLEANER_CHECKPOINT
        assert path.read_text().startswith("0\n1\n")
        if not is_closed:
            directory.checkpoint()
            assert path.read_text().startswith("0\n3\n")
    assert path.read_text().startswith("0\n3\n")


def test_a_log_that_is_made_again_is_cleaned_from_its_beginning(tmp_path: Path, disk: Disk) -> None:
    """Its predecessor was clean up to a place in the middle of it. It is not known to the disk
    either, should the broker be killed."""
    with opened(tmp_path) as directory:
        fill_some(disk, directory, 1)
        cleaner = Cleaner([directory])
        assert run_to_end(cleaner)
        directory.delete_log("t", 0)
        log = directory.open_log("t", 0, COMPACT)
        assert (tmp_path / CLEANER_CHECKPOINT).read_text() == "0\n0\n"
        for i in range(60):
            put(disk, log, (b"early" if i < 20 else b"k", b"%d" % i))
        assert run_to_end(cleaner)
        assert log.segments.first.size < 200


@pytest.mark.parametrize("is_stopped", [False, True])
def test_what_follows_a_cut_is_not_clean(tmp_path: Path, disk: Disk, is_stopped: bool) -> None:
    """A follower's leader may have less than it. `is_stopped`: segments are lost by hand."""
    with opened(tmp_path) as directory:
        log, cleaner = directory.open_log("t", 0, COMPACT), Cleaner([directory])
        for i in range(30):
            put(disk, log, (b"%d" % i, b"value"))
        assert run_to_end(cleaner)
        if not is_stopped:
            log.truncate_to(3)
            check_what_follows(disk, directory, cleaner)
            return
    for path in log.directory.iterdir():
        if path.stem.isdigit() and int(path.stem) > 0:
            path.unlink()
    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, COMPACT)
        assert directory.cleaned_up_to["t", 0] == log.log_end_offset
        check_what_follows(disk, directory, Cleaner([directory]))


@pytest.mark.parametrize("has_grown", [False, True])
def test_what_follows_a_cut_is_not_clean_after_a_crash(
    tmp_path: Path, disk: Disk, has_grown: bool
) -> None:
    """Before the cleaner, or a checkpoint, has seen the cut."""
    there, crashed = tmp_path / "there", tmp_path / "crashed"
    with opened(there) as directory:
        log = directory.open_log("t", 0, COMPACT)
        for i in range(30):
            put(disk, log, (b"%d" % i, b"value"))
        assert run_to_end(Cleaner([directory]))
        log.truncate_to(3)
        for i in range(60 if has_grown else 0):
            put(disk, log, (b"early" if i < 20 else b"k", b"%d" % i))
        shutil.copytree(there, crashed)
        directory.checkpoint()
        assert (there / CLEANER_CHECKPOINT).read_text() == "0\n1\nt 0 3\n"
    with opened(crashed) as directory:
        log = directory.open_log("t", 0, COMPACT)
        cleaner = Cleaner([directory])
        if not has_grown:
            check_what_follows(disk, directory, cleaner)
            return
        log.advance_high_watermark(log.log_end_offset)
        assert run_to_end(cleaner)
        assert [record.key for record in read_all(log)].count(b"early") == 1


def check_what_follows(disk: Disk, directory: LogDirectory, cleaner: Cleaner) -> None:
    log = directory.logs["t", 0]
    for i in range(60):
        put(disk, log, (b"early" if i < 20 else b"k", b"%d" % i))
    assert run_to_end(cleaner)
    assert [record.key for record in read_all(log)].count(b"early") == 1
    assert directory.cleaned_up_to["t", 0] == log.segments.active.base_offset
    assert not run_to_end(cleaner)


@pytest.mark.parametrize("is_asked_for", [False, True])
def test_many_dirty_logs_are_looked_at_once_and_not_again_for_each(
    tmp_path: Path, disk: Disk, is_asked_for: bool
) -> None:
    """`is_asked_for`: all are cleaned, due or not."""
    with opened(tmp_path) as directory:
        logs = [directory.open_log("t", number, COMPACT) for number in range(30)]
        for log in logs:
            for i in range(30):
                put(disk, log, (b"k", b"%d" % i))
        cleaner = Cleaner([directory])
        steps = 0
        if is_asked_for:
            for step in cleaner.clean_all():
                steps += 1
                if step.work is not None:
                    step.work()
        else:
            assert cleaner.has_more is False
            run = count_steps(cleaner)
            is_cleaned = True
            while is_cleaned:
                is_cleaned, taken = next(run)
                steps += taken
            assert cleaner.has_more is False
        assert all(log.segments.first.size < 200 for log in logs)
        alone = tmp_path / "alone"
        with opened(alone) as other:
            log = other.open_log("t", 0, COMPACT)
            for i in range(30):
                put(disk, log, (b"k", b"%d" % i))
            of_one = next(count_steps(Cleaner([other])))[1]
        assert steps < 30 * (of_one + 10)


def count_steps(cleaner: Cleaner) -> Iterator[tuple[bool, int]]:
    """Clean again and again: tells whether a log was cleaned, and the steps that it took."""
    while True:
        steps, run = 0, cleaner.clean()
        while True:
            try:
                step = next(run)
            except StopIteration as done:
                yield done.value, steps
                break
            steps += 1
            if step.work is not None:
                step.work()


@pytest.mark.parametrize(
    "lags", [{}, {"min_compaction_lag_ms": 1}, {"max_compaction_lag_ms": 10**9}]
)
def test_the_times_of_many_segments_are_read_in_steps(disk: Disk, lags: Any) -> None:
    """And only if they are asked for."""
    files = counted(disk)
    with opened(disk.root, open_files=disk.open_files) as directory:
        log = directory.logs["topic", 0] = many_segments(disk)
        log.config = LogConfig(cleanup_policy=("compact",), **lags)
        disk.now_ms += 10
        files.count = 0
        choosing = takewhile(lambda _: log.cleaning is None, Cleaner([directory]).clean())
        assert files.most_in_one_go(choosing) < 10
        assert (files.count > COUNT) is bool(lags)
