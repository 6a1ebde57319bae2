"""Transactions per second, and begin..commit in milliseconds, beside Apache Kafka in the same run.

`python -m conformance.benchmarks.transactions`: librdkafka (transactions v1) and Kafka's own client
(v2), one producer, a few records into each of a few partitions per transaction.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker, Reached
from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java
from conformance.harness.kafkalite import Kafkalite

TOPIC = "transactions"
PARTITIONS = 3
RECORDS = 6
WARM_UP = 200
SOURCE = Path(__file__).parent / "Transactions.java"


def with_librdkafka(broker: Reached, count: int) -> list[float]:
    """Milliseconds of each transaction."""
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "rdkafka", "linger.ms": 0}
    )
    producer.init_transactions(30)
    took: list[float] = []
    for number in range(WARM_UP + count):
        began = time.perf_counter()
        producer.begin_transaction()
        for record in range(RECORDS):
            producer.produce(TOPIC, bytes(100), partition=record % PARTITIONS)
        producer.commit_transaction(30)
        if number >= WARM_UP:
            took.append((time.perf_counter() - began) * 1000)
    return took


def with_java(broker: Broker, count: int) -> list[float]:
    """The same by Kafka's own producer."""
    arguments = (broker.bootstrap, TOPIC, PARTITIONS, RECORDS, WARM_UP, count)
    command = [str(find_java()), "-Xmx256m", "-cp", f"{kafka_jars()}/*", str(SOURCE)]
    ran = subprocess.run(
        [*command, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300
    )
    return [float(line) for line in ran.stdout.split()]


CLIENTS = {"librdkafka": with_librdkafka, "java": with_java}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    rates: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        for kind in (ServerKafka, Kafkalite):
            broker = kind(Path(directory) / kind.__name__)
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
            for client, run in CLIENTS.items():
                took = sorted(run(broker, count))
                rates[broker.kind, client] = 1000 / statistics.mean(took)
                print(
                    f"{broker.kind:10} {client:10} {rates[broker.kind, client]:8.0f}/s   "
                    f"p50 {took[len(took) // 2]:6.2f} ms   "
                    f"p99 {took[len(took) * 99 // 100]:6.2f} ms",
                    flush=True,
                )
            broker.stop()
    for client in CLIENTS:
        ratio = rates["kafkalite", client] / rates["kafka", client]
        print(f"{client}: {ratio:.2f}x Apache Kafka's transactions per second")


if __name__ == "__main__":
    main()
