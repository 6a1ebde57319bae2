"""The broker's process: how soon it answers, how much memory it takes."""

from __future__ import annotations

import time
import uuid

from conformance.benchmarks.bulk import KB, launched, seconds_of
from conformance.benchmarks.sampling import Side, create_topic, delete_topic, resident_bytes
from conformance.harness.raw import living_broker_count

MB = 1_000_000
EACH_TIME_MB = 1000


class Start:
    """From starting the process to its first Metadata answer; the data directory is there."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.broker = side.start()
        self.broker.stop()

    def sample(self) -> dict[str, float]:
        began = time.perf_counter()
        self.broker.start()  # back when clients can connect
        assert living_broker_count(self.broker.bootstrap) == 1
        took = time.perf_counter() - began
        self.broker.stop()
        return {"s": took}

    def close(self) -> None:
        self.side.stop(self.broker)


class Memory:
    """Resident, of a process just started, and after 10 GB went in and out."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.times = 1 if side.quick else 10
        self.megabytes = 10 if side.quick else EACH_TIME_MB

    def sample(self) -> dict[str, float]:
        broker = self.side.start()
        time.sleep(1)
        idle = resident_bytes(broker.pid)
        records = self.megabytes * 1000
        for _ in range(self.times):
            topic = f"memory-{uuid.uuid4().hex[:8]}"
            create_topic(broker, topic, 4)
            generators = [
                launched(broker, "consume", topic, 0, 4, records),
                launched(broker, "produce", topic, 0, 4, records, KB, "none", 0),
            ]
            seconds_of(generators)
            delete_topic(broker, topic)
        after = resident_bytes(broker.pid)
        self.side.stop(broker)
        return {"MB idle": idle / MB, "MB after 10 GB in and out": after / MB}

    def close(self) -> None:
        pass
