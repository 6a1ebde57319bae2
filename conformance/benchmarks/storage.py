"""The cost of the log by itself, beside the floor: `python -m conformance.benchmarks.storage [part
...]`.

- `append`: batches come in over a socket (a child sends, its time is not counted). The floor
  receives, computes one CRC-32C, and writes; the log validates, remembers producers, indexes, and
  writes.
- `read`: from the log to a socket that a child empties. The floor is one sendfile(2) per 1 MB; the
  log looks up each offset, makes a slice, and sends that.
- `compact`: a table of 5,000 keys; and the longest step, which an event loop would have to wait
  for.
- `many`, `large`: the logs of 10,000 partitions, and a log of 5 GB: after a clean shutdown, killed
  with the checkpoint at the last roll, killed without any.
- `ready`: a broker of 10,000 partitions, from its start until clients can connect.

Wall time, and seconds of this process' CPU, which other work on the machine disturbs least. No
fsync.
"""

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from crc32c import crc32c

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import cpu_seconds, create_topic, produce_request
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.raw import RawConnection
from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import RECOVERY_POINT_CHECKPOINT, Files
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.record_batch import Record, build_batch

MB, GB = 10**6, 10**9
PARTITIONS = 10_000
LARGE_LOG = 5 * GB
TURNS = 3


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


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def row(what: str, size: int, seconds: tuple[float, float], floor: float = 0.0) -> float:
    """Print MB/s and CPU seconds per GB, the latter beside the floor's; returns it."""
    per_gb = seconds[1] / size * GB
    ratio = f"{per_gb / floor:5.2f}" if floor else "     "
    print(f"{what:34} {size / MB / seconds[0]:7.0f} MB/s {per_gb:6.2f} CPU s/GB {ratio}")
    return per_gb


@contextmanager
def other_end(work: Callable[[socket.socket], None]) -> Iterator[socket.socket]:
    """A socket with a child at its other end that does `work`."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    child = os.fork()
    if child == 0:
        ours.close()
        work(theirs)
        os._exit(0)
    theirs.close()
    yield ours
    ours.close()
    os.waitpid(child, 0)


def received(end: socket.socket, size: int, count: int) -> Iterator[memoryview]:
    """The same number of batches, one after the other in one buffer."""
    buffer = memoryview(bytearray(size))
    for _ in range(count):
        got = 0
        while got < size:
            got += end.recv_into(buffer[got:])
        yield buffer


# -- append and read


def floor_append(end: socket.socket, file: int, size: int, count: int) -> None:
    position = 0
    for batch in received(end, size, count):
        crc32c(batch)
        position += os.pwrite(file, batch, position)


def log_append(end: socket.socket, log: Log, size: int, count: int) -> None:
    for batch in received(end, size, count):
        log.append(batch, leader_epoch=0)
        log.advance_high_watermark(log.log_end_offset)


def floor_send(end: socket.socket, file: int, size: int) -> None:
    position = 0
    while position < size:
        position += os.sendfile(end.fileno(), file, position, min(1 << 20, size - position))


def log_send(end: socket.socket, log: Log, size: int, record_count: int) -> None:
    offset = 0
    while offset < log.log_end_offset:
        records = log.read(offset, 1 << 20, upper_bound=log.high_watermark).records
        assert not isinstance(records, bytes)
        with records:
            position, left = records.position, records.size
            while left:
                sent = os.sendfile(end.fileno(), records.fileno(), position, left)
                position, left = position + sent, left - sent
            offset += records.size // size * record_count


def drain(end: socket.socket) -> None:
    buffer = bytearray(1 << 20)
    while end.recv_into(buffer):
        pass


def append_and_read(root: Path) -> None:
    for record_bytes, records, count in ((100, 1, 60_000), (1000, 16, 20_000), (1000, 900, 500)):
        record = Record(timestamp=now_ms(), value=os.urandom(record_bytes))
        batch = build_batch([record] * records)
        size, total = len(batch), len(batch) * count

        def send(end: socket.socket, batch: bytes = batch, count: int = count) -> None:
            for _ in range(count):
                end.sendall(batch)

        best = dict.fromkeys(("append's floor", "append", "read's floor", "read"), (1e9, 1e9))
        for turn in range(TURNS):
            file = os.open(root / "floor", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            directory = opened(root / f"append-{size}-{turn}")
            log = directory.open_log("append", 0, LogConfig())
            for what, at_the_other_end, work in (
                ("append's floor", send, partial(floor_append, file=file, size=size, count=count)),
                ("append", send, partial(log_append, log=log, size=size, count=count)),
                ("read's floor", drain, partial(floor_send, file=file, size=total)),
                ("read", drain, partial(log_send, log=log, size=size, record_count=records)),
            ):
                with other_end(at_the_other_end) as end:
                    seconds = spent(partial(work, end))
                best[what] = min(best[what], seconds, key=lambda seconds: seconds[1])
            directory.close()
            os.close(file)
            shutil.rmtree(root / f"append-{size}-{turn}")
        print(f"batches of {size:,} bytes")
        for what in ("append", "read"):
            row(
                f"  {what}",
                total,
                best[what],
                row(f"  {what}, floor", total, best[f"{what}'s floor"]),
            )


# -- compaction


def compact(root: Path) -> None:
    directory = opened(root / "compact")
    config = LogConfig(cleanup_policy=("compact",), segment_bytes=8 << 20)
    log = directory.open_log("table", 0, config)
    for i in range(4000):
        records = [
            Record(timestamp=now_ms(), key=b"key-%d" % ((i * 31 + j) % 5000), value=os.urandom(500))
            for j in range(50)
        ]
        log.append(build_batch(records), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
    longest = 0.0

    def clean() -> None:
        nonlocal longest
        last = time.process_time()
        for step in Cleaner([directory]).clean():
            longest = max(longest, time.process_time() - last)
            if step.work is not None:
                step.work()
            last = time.process_time()

    size = log.size_bytes
    row("compaction, records of 500 bytes", size, spent(clean))
    print(
        f"{'  its longest step':34} {longest * 1000:7.1f} ms of CPU, to {log.size_bytes / size:.1%}"
    )
    directory.close()


# -- opening


def open_many(root: Path) -> None:
    path = root / "many"
    directory = opened(path)
    batch = build_batch([Record(timestamp=now_ms(), value=bytes(100))])
    for i in range(PARTITIONS):
        directory.open_log("many", i, LogConfig()).append(batch, leader_epoch=0)
    directory.checkpoint()
    for how in ("killed", "clean"):
        directory.close()
        if how == "killed":
            (path / RECOVERY_POINT_CHECKPOINT).unlink()
        directory = opened(path)
        directory.was_clean_shutdown = how == "clean"

        def open_all(directory: LogDirectory = directory) -> None:
            for stored in directory.partitions():
                directory.open_log(stored.topic, stored.partition, LogConfig())

        wall, cpu = spent(open_all)
        print(f"open {PARTITIONS:,} partitions, {how:14} {wall:6.2f} s, {cpu:5.2f} s of CPU")
    directory.close()


def open_large(root: Path) -> None:
    path = root / "large"
    directory = opened(path)
    log = directory.open_log("large", 0, LogConfig())
    batch = build_batch([Record(timestamp=now_ms(), value=os.urandom(1000))] * 500)
    while log.size_bytes < LARGE_LOG:
        log.append(batch, leader_epoch=0)
    rolled = log.segments.active.base_offset
    directory.close()
    states = (
        ("clean", True, 0),
        ("killed, checkpointed", False, rolled),
        ("killed", False, 0),
    )
    for how, is_clean, recovery_point in states:

        def open_one(is_clean: bool = is_clean, recovery_point: int = recovery_point) -> None:
            open_log(
                path / "large-0",
                LogConfig(),
                now_ms=now_ms,
                clean_shutdown=is_clean,
                recovery_point=recovery_point,
            ).close_files()

        wall, cpu = spent(open_one)
        print(f"open a log of 5 GB, {how:21} {wall:6.2f} s, {cpu:5.2f} s of CPU")


def start_broker(root: Path) -> None:
    """A process that has 10,000 partitions with a record each."""
    broker = Kafkalite(root / "broker")
    create_topic(broker, "many", PARTITIONS)
    with RawConnection(broker.bootstrap, 60) as connection:
        for partition in range(PARTITIONS):
            connection.ask(request(ApiKey.PRODUCE, 12, produce_request("many", partition))[4:])
    for how, end in (("clean", broker.stop), ("killed", broker.kill)):
        end()
        began = time.perf_counter()
        broker.start()
        seconds, cpu = time.perf_counter() - began, cpu_seconds(broker.pid)
        print(f"{PARTITIONS:,} partitions, {how:6}, ready: {seconds:6.2f} s, {cpu:5.2f} s of CPU")
    broker.stop()


PARTS = {
    "append": append_and_read,
    "compact": compact,
    "many": open_many,
    "large": open_large,
    "ready": start_broker,
}


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory(prefix="storage-") as path:
            PARTS[part](Path(path))


if __name__ == "__main__":
    main()
