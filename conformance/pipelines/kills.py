"""`python -m conformance.pipelines.kills`: the exactly-once sink, its driver killed with SIGKILL
again and again.

A stream from topic to topic through `exactly_once`, each micro-batch small; the driver and all its
workers are killed at seeded moments and started again, until the stream has come to its end. Then
every row must be in the target once, for a reader of read_committed. Needs the environment of `make
pipelines`.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.spark.client import Client
from conformance.spark.session import start_spark
from kafkalite.spark.exactly_once_sink import exactly_once

SOURCE, TARGET = "source", "target"


def run_stream(bootstrap: str, directory: Path, rows_per_batch: int) -> None:
    """The child: to the end of the source, from wherever the checkpoint says."""
    spark = start_spark(directory / "spark")
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": rows_per_batch}
    frame = reader.option("subscribe", SOURCE).options(**options).load().select("key", "value")
    sink = exactly_once(bootstrap, topic=TARGET)
    writer = frame.writeStream.foreachBatch(sink).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(directory / "checkpoint")).start()
    query.awaitTermination()


def kill_group(child: "subprocess.Popen[bytes]") -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def until_done(broker: Broker, directory: Path, options: argparse.Namespace) -> int:
    """Start, kill, start again; how many were killed."""
    chance = random.Random(options.seed)
    command = [sys.executable, "-m", __spec__.name, "--child", broker.bootstrap]
    command += ["--directory", str(directory), "--batch", str(options.batch)]
    kills = 0
    while True:
        child = subprocess.Popen(command, start_new_session=True)
        seconds = chance.uniform(*options.between) if kills < options.kills else None
        try:
            if child.wait(seconds) != 0:
                raise SystemExit(f"the stream failed: exit status {child.returncode}")
            return kills
        except subprocess.TimeoutExpired:
            kill_group(child)
            kills += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--between", type=float, nargs=2, default=(12.0, 20.0))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", default="kafkalite", choices=["kafkalite", "kafka"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_stream(options.child, options.directory, options.batch)
        return
    directory = Path(tempfile.mkdtemp(prefix="kafkalite-kills-"))
    kind = ApacheKafka if options.broker == "kafka" else Kafkalite
    broker: Broker = kind(directory / "broker")
    try:
        client = Client(broker.bootstrap)
        for topic in (SOURCE, TARGET):
            client.create(topic, 3)
        for partition in range(3):
            client.send(SOURCE, range(partition, options.rows, 3), partition)
        begin = time.monotonic()
        kills = until_done(broker, directory, options)
        seconds = time.monotonic() - begin
        times = Counter(client.numbers(TARGET))
        missing = sum(number not in times for number in range(options.rows))
        repeated = sum(count > 1 for count in times.values())
        print(
            f"{options.rows} rows in micro-batches of {options.batch}, {kills} kills, "
            f"{seconds:.0f} s: {missing} missing, {repeated} twice"
        )
        if missing or repeated or len(times) != options.rows:
            raise SystemExit(1)
    finally:
        broker.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
