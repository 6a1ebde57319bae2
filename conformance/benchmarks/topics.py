"""Many topics, and topics that come and go: `python -m conformance.benchmarks.topics`."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import TIMESTAMP, cpu_seconds, resident_bytes
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

TOPIC_COUNT = 1000
PARTITION_COUNT = 10
CLIENT_COUNT = 20
SECONDS = 60.0


class Client:
    """One connection that speaks the protocol."""

    def __init__(self, bootstrap: str) -> None:
        self.connection = RawConnection(bootstrap, seconds=SECONDS)

    def close(self) -> None:
        self.connection.socket.close()

    def ask(self, key: ApiKey, version: int, body: Any) -> Any:
        return decode_response(key, version, self.ask_unread(key, version, body))[1]

    def ask_unread(self, key: ApiKey, version: int, body: Any) -> bytes:
        self.connection.send(request(key, version, body))
        return self.connection.receive()

    def create(self, names: Sequence[str], partitions: int = 1) -> list[UUID]:
        """Create topics that were not there; their ids."""
        topics = [
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            for name in names
        ]
        body = CreateTopicsRequest(topics=topics, timeout_ms=60_000)
        answer = self.ask(ApiKey.CREATE_TOPICS, 7, body)
        assert {topic.error_code for topic in answer.topics} == {0}
        return [UUID(bytes=topic.topic_id.bytes) for topic in answer.topics]

    def delete(self, topic_id: UUID) -> None:
        topics = [DeleteTopicState(topic_id=topic_id)]
        answer = self.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=topics, timeout_ms=1))
        assert answer.responses[0].error_code == 0

    def produce(self, topic_id: UUID, value: bytes) -> tuple[int, int]:
        """(error code, offset) of one record."""
        records = memoryview(build_batch([Record(value=value, timestamp=TIMESTAMP)]))
        data = TopicProduceData(
            topic_id=topic_id, partition_data=[PartitionProduceData(index=0, records=records)]
        )
        body = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
        (answer,) = self.ask(ApiKey.PRODUCE, 13, body).responses[0].partition_responses
        return answer.error_code, answer.base_offset

    def fetch(self, topic_id: UUID) -> tuple[int, list[bytes | None]]:
        """(error code, values) of all there is."""
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic_id=topic_id, partitions=[partition])
        answer = self.ask(
            ApiKey.FETCH, 17, FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[topic])
        )
        (found,) = answer.responses[0].partitions
        batches = iterate_batches(bytes(found.records or b""))
        return found.error_code, [
            each.value for batch in batches for each in iterate_records(batch)
        ]


UNKNOWN_TOPIC_ID = 100


def churn(client: Client, names: Sequence[str]) -> None:
    """Create, use, delete and create again each topic, alone; check that nothing outlives one."""
    for name in names:
        (first,) = client.create([name])
        assert client.produce(first, b"first") == (0, 0)
        assert client.fetch(first) == (0, [b"first"])
        client.delete(first)
        (second,) = client.create([name])
        assert second != first
        assert client.produce(first, b"lost")[0] == UNKNOWN_TOPIC_ID
        assert client.fetch(first)[0] == UNKNOWN_TOPIC_ID
        assert client.produce(second, b"second") == (0, 0)
        assert client.fetch(second) == (0, [b"second"])


def churn_all(broker: Broker) -> float:
    """All topics by all clients at once; seconds."""
    shares = [
        [f"churn-{number}" for number in range(client, TOPIC_COUNT, CLIENT_COUNT)]
        for client in range(CLIENT_COUNT)
    ]
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(broker.bootstrap))) for _ in shares]
        began = time.perf_counter()
        with ThreadPoolExecutor(CLIENT_COUNT) as threads:
            list(threads.map(churn, clients, shares))
        return time.perf_counter() - began


def metadata_cpu_seconds(broker: Broker, client: Client) -> float:
    """CPU time of the broker for Metadata about everything, the first time, with nothing cached.

    The first Metadata of all imports the handler, which counts as starting.
    """
    client.ask_unread(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
    before = cpu_seconds(broker.pid)
    answer = client.ask_unread(ApiKey.METADATA, 12, MetadataRequest(topics=None))
    spent = round(cpu_seconds(broker.pid) - before, 2)  # counted in hundredths
    topics = decode_response(ApiKey.METADATA, 12, answer)[1].topics
    assert sum(len(topic.partitions) == PARTITION_COUNT for topic in topics) == TOPIC_COUNT
    return spent


@contextmanager
def started() -> Iterator[Kafkalite]:
    with tempfile.TemporaryDirectory() as directory:
        broker = Kafkalite(Path(directory) / "broker")
        try:
            yield broker
        finally:
            broker.stop()


def main() -> int:
    with ExitStack() as stack, started() as broker:
        client = stack.enter_context(closing(Client(broker.bootstrap)))
        single: list[float] = []
        for number in range(300):
            began = time.perf_counter()
            client.create([f"one-{number}"])
            single.append(time.perf_counter() - began)
        print(
            f"CreateTopics of 1 partition, fsync included: {statistics.median(single) * 1e3:.1f} ms"
        )
        for name in [f"one-{number}" for number in range(300)]:
            body = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000)
            client.ask(ApiKey.DELETE_TOPICS, 6, body)
        began = time.perf_counter()
        client.create([f"many-{number}" for number in range(TOPIC_COUNT)], PARTITION_COUNT)
        took = time.perf_counter() - began
        print(f"{TOPIC_COUNT} topics x {PARTITION_COUNT}: created in {took:.1f} s")
        for _ in range(3):
            began = time.perf_counter()
            size = len(client.ask_unread(ApiKey.METADATA, 12, MetadataRequest(topics=None)))
            print(f"Metadata of all: {size} bytes, {(time.perf_counter() - began) * 1e3:.0f} ms")
        print(f"memory: {resident_bytes(broker.pid) / 1e6:.0f} MB")
        print(f"{TOPIC_COUNT} topics churned by {CLIENT_COUNT} clients: {churn_all(broker):.1f} s")
        print(f"memory: {resident_bytes(broker.pid) / 1e6:.0f} MB")
        broker.stop()
        began = time.perf_counter()
        broker.start()
        print(f"start with all of them: {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
