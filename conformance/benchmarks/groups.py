"""From subscribing to the first record, and until a group is stable: `python -m
conformance.benchmarks.groups`.

librdkafka's members against each broker in turn; the rounds alternate, and the table shows seconds
(medians). Neither broker waits before it assigns.
"""

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite

AT_ONCE = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
FILLED, SHARED = "filled", "shared"
SECONDS = 60


def member(broker: Broker, topic: str, group: str, protocol: str) -> Consumer:
    config: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
    }
    if protocol == "classic":
        config["heartbeat.interval.ms"] = 200
    consumer = Consumer(config)
    consumer.subscribe([topic])
    return consumer


def first_record(broker: Broker, protocol: str, _: int) -> float:
    """Seconds from making a consumer to its first record."""
    began = time.perf_counter()
    consumer = member(broker, FILLED, uuid.uuid4().hex, protocol)
    while (message := consumer.poll(1)) is None or message.error():
        assert time.perf_counter() - began < SECONDS
    took = time.perf_counter() - began
    consumer.close()
    return took


def stable(broker: Broker, protocol: str, count: int) -> float:
    """Seconds from making that many consumers until each has its one partition."""
    began = time.perf_counter()
    group = uuid.uuid4().hex
    consumers = [member(broker, SHARED, group, protocol) for _ in range(count)]
    while not all(len(consumer.assignment()) == 1 for consumer in consumers):
        assert time.perf_counter() - began < SECONDS
        for consumer in consumers:
            consumer.poll(0)
        time.sleep(0.005)
    took = time.perf_counter() - began
    for consumer in consumers:
        consumer.close()
    return took


def prepare(broker: Broker, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    new = [NewTopic(FILLED, 3, 1), NewTopic(SHARED, count, 1)]
    for created in admin.create_topics(new).values():
        created.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(30):
        producer.produce(FILLED, str(i))
    producer.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    measures: dict[str, Callable[[Broker, str, int], float]] = {
        "subscribe to first record": first_record,
        f"{arguments.members} members stable": stable,
    }
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        brokers: dict[str, Broker] = {
            "kafkalite": Kafkalite(directory / "kafkalite", AT_ONCE),
            "Apache Kafka": ServerKafka(directory / "kafka", AT_ONCE),
        }
        for broker in brokers.values():
            stack.callback(broker.stop)
            prepare(broker, arguments.members)
        for name, measure in measures.items():
            for protocol in ("classic", "consumer"):
                took: dict[str, list[float]] = {kind: [] for kind in brokers}
                for _ in range(arguments.rounds):
                    for kind, broker in brokers.items():
                        took[kind].append(measure(broker, protocol, arguments.members))
                medians = ", ".join(f"{k} {statistics.median(t):.3f} s" for k, t in took.items())
                print(f"{name} ({protocol}): {medians}", flush=True)


if __name__ == "__main__":
    main()
