"""What the log costs by itself, without a socket: `python -m conformance.benchmarks.storage`.

Appends, reads, compaction (and its longest step: what the event loop would wait), opening. In seconds of
this process' CPU, which other work on the machine disturbs least; fsync is left out.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.records import Record, build_batch

MB = 1_000_000
PARTITIONS = 2000


class PromptFiles(Files):
    """Waits for no disk."""

    def sync(self, descriptor: int) -> None:
        return

    def sync_directory(self, path: Path) -> None:
        return

    def sync_everything(self) -> None:
        return


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def opened(path: Path) -> LogDirectory:
    return LogDirectory.open(
        path, cluster_id=None, node_id=1, now_ms=now_ms, open_files=OpenFiles(files=PromptFiles())
    )


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def appends_and_reads(directory: LogDirectory) -> None:
    for size, count in ((100, 20_000), (16_000, 5_000), (900_000, 300)):
        log = directory.open_log(f"append-{size}", 0, LogConfig())
        batch = build_batch([Record(timestamp=now_ms(), value=bytes(size))])

        def append(log=log, batch=batch, count=count) -> None:
            for _ in range(count):
                log.append(batch, leader_epoch=0)
                log.advance_high_watermark(log.log_end_offset)

        seconds = cpu_seconds(append)
        rate = len(batch) * count / MB / seconds
        print(
            f"append {len(batch):>7} bytes: {seconds / count * 1e6:6.1f} us, {rate:6.0f} MB/CPU s"
        )

        def read(log=log, count=count) -> None:
            for offset in range(count):
                log.read(offset, 1 << 20, upper_bound=count).records.close()

        print(f"  read from anywhere:  {cpu_seconds(read) / count * 1e6:6.1f} us")


def compaction(directory: LogDirectory) -> None:
    config = LogConfig(cleanup_policy=("compact",), segment_bytes=8 << 20)
    log = directory.open_log("table", 0, config)
    for i in range(3000):
        records = [
            Record(timestamp=now_ms(), key=b"key-%d" % ((i * 31 + j) % 5000), value=bytes(200))
            for j in range(50)
        ]
        log.append(build_batch(records), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
    size, longest = log.size_bytes, 0.0
    began = last = time.process_time()
    for step in Cleaner([directory]).clean():
        longest = max(longest, time.process_time() - last)
        if step.work is not None:
            step.work()
        last = time.process_time()
    seconds = time.process_time() - began
    print(
        f"compaction: {size / MB / seconds:.0f} MB/CPU s, {150_000 / seconds:,.0f} records/CPU s, "
        f"longest step {longest * 1000:.1f} ms"
    )


def opening(path: Path) -> None:
    directory = opened(path)
    batch = build_batch([Record(timestamp=now_ms(), value=bytes(100))])
    for i in range(PARTITIONS):
        directory.open_log("many", i, LogConfig()).append(batch, leader_epoch=0)
    directory.close()
    for is_clean in (True, False):
        directory = opened(path)
        directory.was_clean_shutdown = is_clean

        def open_all(directory: LogDirectory = directory) -> None:
            for stored in directory.partitions():
                directory.open_log(stored.topic, stored.partition, LogConfig())

        seconds = cpu_seconds(open_all)
        how = "after a clean shutdown" if is_clean else "after a crash"
        print(f"open {how}: {seconds / PARTITIONS * 1e6:.0f} us a partition")
        directory.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as path:
        directory = opened(Path(path) / "one")
        appends_and_reads(directory)
        compaction(directory)
        directory.close()
        opening(Path(path) / "many")


if __name__ == "__main__":
    main()
