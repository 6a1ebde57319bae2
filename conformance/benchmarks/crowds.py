"""Thousands of connections that do nothing, or wait in a Fetch: processor time, and memory of
each."""

from __future__ import annotations

import resource
import time
import uuid

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import (
    Side,
    cpu_seconds,
    create_topic,
    resident_bytes,
)
from conformance.harness.broker import Broker
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import api_versions, fetch

TOPIC = "crowded"
PARTITIONS = 10
QUICK = 20  # a quick crowd is so many times smaller
MAX_WAIT_MS = 120_000


class Crowd:
    """Each sample on a new broker, for its memory is measured."""

    def __init__(self, side: Side, *, parked: bool, count: int) -> None:
        self.side, self.parked = side, parked
        self.count = count // QUICK if side.quick else count
        self.seconds = 1.0 if side.quick else 5.0
        # For us and for the brokers that we start.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def sample(self) -> dict[str, float]:
        # A broker of its own every time: one that has had a crowd has room for the next.
        broker = self.side.start()
        topic_id = create_topic(broker, TOPIC, PARTITIONS)
        self.gather(broker, topic_id, PARTITIONS)
        memory = resident_bytes(broker.pid)
        crowd = self.gather(broker, topic_id, self.count)
        time.sleep(1)
        before, began = cpu_seconds(broker.pid), time.perf_counter()
        time.sleep(self.seconds)
        share = (cpu_seconds(broker.pid) - before) / (time.perf_counter() - began)
        grown = resident_bytes(broker.pid) - memory
        for connection in crowd:
            connection.socket.close()
        self.side.stop(broker)
        return {"% of a core": 100 * share, "KB each": grown / 1000 / self.count}

    def gather(self, broker: Broker, topic_id: uuid.UUID, count: int) -> list[RawConnection]:
        crowd = [RawConnection(broker.bootstrap, 60) for _ in range(count)]
        hello = request(ApiKey.API_VERSIONS, 3, api_versions.ApiVersionsRequest("crowd", "1"))
        for number, connection in enumerate(crowd):
            connection.send(hello)
            connection.receive()
            if self.parked:
                connection.send(self.fetch_of(topic_id, number % PARTITIONS))
        return crowd

    def fetch_of(self, topic_id: uuid.UUID, number: int) -> bytes:
        partition = fetch.FetchPartition(partition=number, partition_max_bytes=1000)
        topic = fetch.FetchTopic(topic=TOPIC, topic_id=topic_id, partitions=[partition])
        body = fetch.FetchRequest(max_wait_ms=MAX_WAIT_MS, min_bytes=1, topics=[topic])
        return request(ApiKey.FETCH, 17, body)

    def close(self) -> None:
        pass
