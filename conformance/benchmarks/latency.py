"""The time of a record from a producer to a consumer that waits for it.

Two plain sockets: the consumer's Fetch is parked already when the producer sends. From the first
byte out to the whole Fetch answer in.
"""

from __future__ import annotations

import gc
import struct
import subprocess
import time
import uuid

from conformance.benchmarks.bulk import launched
from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import (
    Side,
    create_topic,
    delete_topic,
    produce_request,
    produced,
)
from conformance.harness.broker import Broker
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import fetch

PARK_SECONDS = 0.0005
KB = 1000
LOAD_MB_PER_SECOND = 100
# A number that is nowhere else in the frame: where it is, the offset goes.
OFFSET_MARK = 0x0123456789ABCDEF


class Probe:
    """A producer and a consumer of a topic of their own."""

    def __init__(self, broker: Broker) -> None:
        self.broker, self.topic = broker, f"probe-{uuid.uuid4().hex[:8]}"
        topic_id = create_topic(broker, self.topic)
        partition = fetch.FetchPartition(
            partition=0, fetch_offset=OFFSET_MARK, partition_max_bytes=1000
        )
        topic = fetch.FetchTopic(topic=self.topic, topic_id=topic_id, partitions=[partition])
        body = fetch.FetchRequest(max_wait_ms=10_000, min_bytes=1, max_bytes=1000, topics=[topic])
        self.fetch = bytearray(request(ApiKey.FETCH, 17, body))
        self.offset_at = self.fetch.index(struct.pack(">q", OFFSET_MARK))
        self.produce = request(ApiKey.PRODUCE, 12, produce_request(self.topic))
        self.producer, self.consumer = (RawConnection(broker.bootstrap, 60) for _ in range(2))
        self.next_offset = produced(broker, self.topic) + 1
        self.milliseconds(200)  # warm

    def milliseconds(self, count: int) -> list[float]:
        """Latencies of so many records, sent one at a time, sorted."""
        took: list[float] = []
        producer, consumer = self.producer.socket, self.consumer
        gc.disable()
        for _ in range(count):
            struct.pack_into(">q", self.fetch, self.offset_at, self.next_offset)
            consumer.socket.sendall(self.fetch)
            time.sleep(PARK_SECONDS)
            began = time.perf_counter()
            producer.sendall(self.produce)
            answer = consumer.receive()
            took.append((time.perf_counter() - began) * 1000)
            assert len(answer) > len(self.produce) // 2, "an answer without the record"
            self.producer.receive()
            self.next_offset += 1
        gc.enable()
        return sorted(took)

    def close(self) -> None:
        self.producer.socket.close()
        self.consumer.socket.close()
        delete_topic(self.broker, self.topic)


def percentile(values: list[float], percent: float) -> float:
    """A percentile of sorted values."""
    return values[min(len(values) - 1, round(len(values) * percent / 100))]


class Alone:
    """Nothing else goes on."""

    def __init__(self, side: Side) -> None:
        self.probe = Probe(side.broker)
        self.count = 100 if side.quick else 5000

    def sample(self) -> dict[str, float]:
        took = self.probe.milliseconds(self.count)
        return {f"p{p} ms": percentile(took, p) for p in (50, 99, 99.9)}

    def close(self) -> None:
        self.probe.close()


class BesideLoad:
    """While a producer sends 100 MB in 1 KB records every second."""

    def __init__(self, side: Side) -> None:
        self.broker, self.probe = side.broker, Probe(side.broker)
        self.count = 100 if side.quick else 2000
        self.megabytes = 50 if side.quick else 1000

    def sample(self) -> dict[str, float]:
        topic = f"load-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, topic, 4)
        load = self.start_load(topic)
        try:
            time.sleep(0.3)
            took = self.probe.milliseconds(self.count)
            assert load.poll() is None, "the load ended before the measurement"
        finally:
            load.kill()
            load.communicate()
            delete_topic(self.broker, topic)
        return {"p50 ms": percentile(took, 50), "p99 ms": percentile(took, 99)}

    def start_load(self, topic: str) -> subprocess.Popen[str]:
        records = self.megabytes * 1000
        wanted = (topic, 0, 4, records, KB, "none", LOAD_MB_PER_SECOND)
        return launched(self.broker, "produce", *wanted)

    def close(self) -> None:
        self.probe.close()
