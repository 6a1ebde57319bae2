"""Tiny requests per second, and per CPU second of the broker: `python -m conformance.benchmarks.requests`.

Each broker in turn answers the same bytes; the rounds alternate, and the table shows the ratio
kafkalite : Apache Kafka of the medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.benchmarks.load import Load, answer, request, run
from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import create_topics, fetch, list_offsets, metadata, produce
from kafkalite.wire.records import Record, build_batch

TOPIC = "tiny"
PARTITION_COUNT = 8


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    name: str
    api_key: ApiKey
    version: int
    body: Any
    connections: int = 1
    in_flight: int = 1


@dataclass(frozen=True)
class Result:
    per_second: float
    per_cpu_second: float
    p50_ms: float
    p99_ms: float


def measures(topic_id: uuid.UUID) -> list[Measure]:
    batch = build_batch([Record(0, 1_700_000_000_000, None, b"x" * 10, [])])
    produced = produce.ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topic_data=[
            produce.TopicProduceData(
                name=TOPIC,
                topic_id=topic_id,
                partition_data=[produce.PartitionProduceData(index=0, records=batch)],
            )
        ],
    )
    latest = list_offsets.ListOffsetsRequest(
        topics=[
            list_offsets.ListOffsetsTopic(
                name=TOPIC,
                partitions=[list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)],
            )
        ],
    )
    fetched = fetch.FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=100,
        topics=[
            fetch.FetchTopic(
                topic=TOPIC,
                topic_id=topic_id,
                partitions=[fetch.FetchPartition(partition=1, partition_max_bytes=10)],
            )
        ],
    )
    topics = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)])
    return [
        Measure("Produce, 1 connection", ApiKey.PRODUCE, 12, produced),
        Measure("Produce, 8 connections", ApiKey.PRODUCE, 12, produced, 8),
        Measure("Produce, 8 with 16 in flight", ApiKey.PRODUCE, 12, produced, 8, 16),
        Measure("Produce, 100 connections", ApiKey.PRODUCE, 12, produced, 100),
        Measure("Fetch of 1 record, 1 connection", ApiKey.FETCH, 17, fetched),
        Measure("Fetch of 1 record, 8 connections", ApiKey.FETCH, 17, fetched, 8),
        Measure("ListOffsets latest, 8 connections", ApiKey.LIST_OFFSETS, 9, latest, 8),
        Measure("Metadata of 1 topic, 8 connections", ApiKey.METADATA, 12, topics, 8),
    ]


def ask(bootstrap: str, api_key: ApiKey, version: int, body: Any) -> Any:
    """One request, once."""
    return answer(api_key, version, run(bootstrap, request(api_key, version, body), seconds=0))


def prepare(broker: Broker) -> uuid.UUID:
    """The topic, with a record in partition 1; its id."""
    created = ask(
        broker.bootstrap,
        ApiKey.CREATE_TOPICS,
        7,
        create_topics.CreateTopicsRequest(
            topics=[
                create_topics.CreatableTopic(
                    name=TOPIC, num_partitions=PARTITION_COUNT, replication_factor=1
                )
            ],
            timeout_ms=10_000,
        ),
    )
    batch = build_batch([Record(0, 1_700_000_000_000, None, b"x" * 10, [])])
    ask(
        broker.bootstrap,
        ApiKey.PRODUCE,
        12,
        produce.ProduceRequest(
            acks=-1,
            timeout_ms=5000,
            topic_data=[
                produce.TopicProduceData(
                    name=TOPIC,
                    partition_data=[produce.PartitionProduceData(index=1, records=batch)],
                )
            ],
        ),
    )
    return uuid.UUID(bytes=created.topics[0].topic_id.bytes)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(broker: Broker, measure: Measure, seconds: float) -> Result:
    frame = request(measure.api_key, measure.version, measure.body)
    before = cpu_seconds(broker.pid)
    load: Load = run(
        broker.bootstrap,
        frame,
        connections=measure.connections,
        in_flight=measure.in_flight,
        seconds=seconds,
    )
    cpu = max(cpu_seconds(broker.pid) - before, 0.01)
    answer(measure.api_key, measure.version, load)
    return Result(
        load.per_second, load.answer_count / cpu, load.latency_ms(50), load.latency_ms(99)
    )


@contextmanager
def started(kind: Callable[[Path], Broker]) -> Iterator[Broker]:
    with tempfile.TemporaryDirectory() as directory:
        broker = kind(Path(directory) / "broker")
        try:
            yield broker
        finally:
            broker.stop()


def compare(kinds: list[Callable[..., Broker]], rounds: int, seconds: float, only: str) -> None:
    with ExitStack() as stack:
        brokers = [stack.enter_context(started(kind)) for kind in kinds]
        lines = [measures(prepare(broker)) for broker in brokers]
        print(f"{'':36}{'':10}   req/s   per CPU s   p50 ms   p99 ms")
        for measure_of_each in zip(*lines, strict=True):
            if only not in measure_of_each[0].name:
                continue
            results: list[list[Result]] = [[] for _ in brokers]
            for _ in range(rounds):
                for number, broker in enumerate(brokers):
                    results[number].append(measured(broker, measure_of_each[number], seconds))
            show(measure_of_each[0].name, [broker.kind for broker in brokers], results)


def show(name: str, kinds: list[str], results: list[list[Result]]) -> None:
    medians: list[list[float]] = []
    for kind, of_one in zip(kinds, results, strict=True):
        columns = ("per_second", "per_cpu_second", "p50_ms", "p99_ms")
        median = [statistics.median(getattr(one, column) for one in of_one) for column in columns]
        medians.append(median)
        print(
            f"{name:36}{kind:10} {median[0]:7.0f} {median[1]:11.0f} {median[2]:8.3f} {median[3]:8.3f}"
        )
        name = ""
    if len(medians) == 2:
        ratios = [ours / theirs for ours, theirs in zip(*medians, strict=True)]
        print(
            f"{'':36}{'ratio':10} {ratios[0]:7.2f} {ratios[1]:11.2f} {ratios[2]:8.2f} {ratios[3]:8.2f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one round")
    parser.add_argument("--alone", action="store_true", help="kafkalite without Apache Kafka")
    parser.add_argument("--only", default="", help="the measures whose name has this in it")
    flags = parser.parse_args()
    kinds: list[Callable[..., Broker]] = [Kafkalite]
    if not flags.alone:
        kinds.append(ServerKafka)
    compare(kinds, flags.rounds, flags.seconds, flags.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
