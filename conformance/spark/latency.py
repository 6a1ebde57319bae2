"""The time of a record into a micro-batch, and the cost of an idle stream for the broker.

    python -m conformance.spark.latency --broker kafkalite
    python -m conformance.spark.latency --broker kafka

One stream on one topic, default trigger: as soon as a micro-batch ends, the next begins. A record
is sent at random moments; its latency ends when foreachBatch has it in Python.
"""

import argparse
import os
import random
import statistics
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.spark.client import SECONDS, Client
from conformance.spark.reading import load, running
from conformance.spark.session import start_spark

WARM_UP = 5
IDLE_SECONDS = 10.0


def process_seconds(broker: Broker) -> float:
    """CPU time of the broker's process so far, user and system."""
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(broker: Broker) -> float:
    """Cores the broker uses while nothing is sent."""
    before = process_seconds(broker)
    time.sleep(IDLE_SECONDS)
    return (process_seconds(broker) - before) / IDLE_SECONDS


def latencies(client: Client, topic: str, count: int, arrivals: "Arrivals") -> list[float]:
    """Milliseconds of each of `count` records, sent one by one."""
    pause = random.Random(1)
    producer = Producer({**client.common, "linger.ms": 0})
    found = []
    for value in range(-WARM_UP, count):
        time.sleep(pause.uniform(0.2, 0.8))
        sent = time.monotonic()
        producer.produce(topic, str(value).encode(), partition=0)
        assert producer.flush(SECONDS) == 0
        found.append(1000 * (arrivals.wait_for(value) - sent))
    return found[WARM_UP:]


class Arrivals:
    """The time at which foreachBatch saw each value."""

    def __init__(self) -> None:
        self.times: dict[int, float] = {}
        self.changed = threading.Condition()

    def keep(self, batch: DataFrame, _batch_id: int) -> None:
        values = [int(row.value) for row in batch.select("value").collect()]
        with self.changed:
            self.times.update(dict.fromkeys(values, time.monotonic()))
            self.changed.notify_all()

    def wait_for(self, value: int) -> float:
        with self.changed:
            assert self.changed.wait_for(lambda: value in self.times, SECONDS)
            return self.times[value]


@dataclass(frozen=True)
class Measured:
    """Each record's milliseconds; cores the broker uses beside an idle stream, and without one."""

    latencies_ms: list[float]
    idle_share: float
    alone_share: float


def measured(broker: Broker, directory: Path, partitions: int, count: int) -> Measured:
    client, topic = Client(broker.bootstrap), f"latency-{uuid.uuid4().hex[:8]}"
    arrivals = Arrivals()
    client.create(topic, partitions)
    alone = idle_share(broker)
    spark = start_spark(directory)
    stream = load(spark.readStream, broker, subscribe=topic).writeStream.foreachBatch(arrivals.keep)
    with running(stream) as query:
        query.processAllAvailable()
        found = latencies(client, topic, count, arrivals)
        idle = idle_share(broker)
    spark.stop()
    return Measured(found, idle, alone)


def show(kind: str, partitions: int, result: Measured) -> None:
    found = result.latencies_ms
    print(
        f"{kind}: produce to foreachBatch, {partitions} partitions, {len(found)} records: "
        f"median {statistics.median(found):.0f} ms, "
        f"p90 {statistics.quantiles(found, n=10)[8]:.0f} ms; "
        f"idle stream: {100 * result.idle_share:.0f} % of a core "
        f"(without it {100 * result.alone_share:.0f} %)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.spark.latency")
    parser.add_argument("--broker", choices=["kafkalite", "kafka"], default="kafkalite")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--records", type=int, default=40)
    arguments = parser.parse_args()
    kind = Kafkalite if arguments.broker == "kafkalite" else ApacheKafka
    with tempfile.TemporaryDirectory() as directory:
        broker = kind(Path(directory) / "broker")
        try:
            show(
                broker.kind,
                arguments.partitions,
                measured(broker, Path(directory), arguments.partitions, arguments.records),
            )
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
