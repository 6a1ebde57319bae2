"""What others notice of a client that never reads, and of one that reads what is on the disk only.

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
from conformance.benchmarks.sampling import Side, create_topic, delete_topic
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import fetch

GB = 1_000_000_000
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
    """librdkafka reads a 5 GB log from its beginning that the page cache has nothing of."""

    def __init__(self, side: Side) -> None:
        super().__init__(side)
        self.records = 20_000 if side.quick else 5_000_000
        self.topic = f"cold-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, self.topic, 1)
        wanted = (self.topic, 0, 1, self.records, KB, "none", 0)
        seconds_of([launched(self.broker, "produce", *wanted)])

    def begin(self) -> None:
        drop_from_cache(self.broker.data_dir / f"{self.topic}-0")
        self.reader: subprocess.Popen[str] = launched(
            self.broker, "consume", self.topic, 0, 1, self.records
        )

    def end(self) -> None:
        self.reader.kill()
        self.reader.communicate()

    def close(self) -> None:
        delete_topic(self.broker, self.topic)
        super().close()


def drop_from_cache(directory: Path) -> None:
    """Write out what is dirty, then let go of every page."""
    for path in directory.glob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
