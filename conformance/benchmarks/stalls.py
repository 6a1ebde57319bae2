"""Delays of other clients by one that never reads, and by one that reads from the disk only.

The figure is the 99th percentile of a record's way from a producer to a consumer (latency.py).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from pathlib import Path

from conformance.benchmarks.bulk import KB, launched, seconds_of
from conformance.benchmarks.latency import Probe, percentile
from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import NotHere, Side, create_topic, delete_topic
from conformance.harness.raw import RawConnection
from kafkalite.log.page_cache import pread_cached
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import fetch

MB = 1_000_000
SLOW_BYTES_PER_SECOND = 40 * MB
BLKIO = Path("/sys/fs/cgroup/blkio")
ASKED_AHEAD = 20


class Beside:
    """The probe alone, then the probe beside what a subclass does."""

    def __init__(self, side: Side) -> None:
        self.side, self.broker = side, side.broker
        self.probe = Probe(side.broker)
        self.count = 100 if side.quick else 1500

    def sample(self) -> dict[str, float]:
        alone = self.probe.milliseconds(self.count)
        self.begin()
        beside = self.probe.milliseconds(self.count)
        self.end()
        return {
            "p99 ms alone": percentile(alone, 99),
            "p99 ms beside it": percentile(beside, 99),
        }

    def begin(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.probe.close()


class ZeroWindow(Beside):
    """A consumer asks for 20 x 50 MB, and reads nothing."""

    def __init__(self, side: Side) -> None:
        super().__init__(side)
        self.topic = f"stall-{uuid.uuid4().hex[:8]}"
        self.topic_id = create_topic(self.broker, self.topic)
        wanted = (self.topic, 0, 1, 100_000, KB, "none", 0)
        seconds_of([launched(self.broker, "produce", *wanted)])

    def begin(self) -> None:
        partition = fetch.FetchPartition(partition=0, partition_max_bytes=50_000_000)
        topic = fetch.FetchTopic(topic=self.topic, topic_id=self.topic_id, partitions=[partition])
        body = fetch.FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])
        self.silent = RawConnection(self.broker.bootstrap)
        self.silent.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.silent.send(request(ApiKey.FETCH, 17, body) * ASKED_AHEAD)
        time.sleep(0.2)

    def end(self) -> None:
        self.silent.socket.close()

    def close(self) -> None:
        delete_topic(self.broker, self.topic)
        super().close()


class ColdLog(Beside):
    """librdkafka reads a log from its beginning that the page cache has nothing of."""

    def __init__(self, side: Side, *, gigabytes: int) -> None:
        super().__init__(side)
        self.records = 20_000 if side.quick else gigabytes * 1_000_000
        self.topic = f"cold-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, self.topic, 1)
        wanted = (self.topic, 0, 1, self.records, KB, "none", 0)
        seconds_of([launched(self.broker, "produce", *wanted)])

    def begin(self) -> None:
        directory = self.broker.data_dir / f"{self.topic}-0"
        drop_from_cache(directory)
        assert cached_share(directory) < 0.05, "the log is still in the page cache"
        self.reader: subprocess.Popen[str] = launched(
            self.broker, "consume", self.topic, 0, 1, self.records
        )

    def end(self) -> None:
        has_ended = self.reader.poll() is not None and not self.side.quick
        self.reader.kill()
        self.reader.communicate()
        assert not has_ended, "the log was read before the measurement ended"

    def close(self) -> None:
        delete_topic(self.broker, self.topic)
        super().close()


class SlowDisk(ColdLog):
    """The same where the broker's disk gives it no more than 40 MB in a second (cgroups, blkio)."""

    def __init__(self, side: Side, *, gigabytes: int) -> None:
        super().__init__(side, gigabytes=gigabytes)
        self.group = BLKIO / f"benchmarks-{os.getpid()}-{side.kind}"
        try:
            self.group.mkdir()
            device = os.stat(self.broker.data_dir).st_dev
            limit = f"{os.major(device)}:{os.minor(device)} {SLOW_BYTES_PER_SECOND}"
            (self.group / "blkio.throttle.read_bps_device").write_text(limit)
            self.move_to(self.group)
        except OSError as error:
            self.close()
            raise NotHere(f"no disk can be made slow: {error}") from None

    def move_to(self, group: Path) -> None:
        (group / "cgroup.procs").write_text(str(self.broker.pid))

    def close(self) -> None:
        if self.group.exists():
            self.move_to(BLKIO)
            self.group.rmdir()
        super().close()


def cached_share(directory: Path) -> float:
    """The share of a log in the page cache, as far as one byte of every 16 MB tells."""
    seen: list[bool] = []
    for path in directory.glob("*.log"):
        with path.open("rb") as log:
            for position in range(0, path.stat().st_size, 16 * MB):
                seen.append(pread_cached(log.fileno(), 1, position) is not None)
    return sum(seen) / max(len(seen), 1)


def drop_from_cache(directory: Path) -> None:
    """Write out what is dirty, then let go of every page."""
    for path in directory.glob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
