"""Run the demo: broker, flights, Spark, comparison, picture. Exit code 1 when a row differs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas
from confluent_kafka import KafkaException

from examples.flights import check, data, job, picture, produce

TOPIC = "flights"


@contextlib.contextmanager
def kafkalite() -> Iterator[str]:
    """A broker of our own on a free port, as the command starts it; yields its address."""
    with tempfile.TemporaryDirectory() as directory:
        ready = Path(directory) / "ready.json"
        command = [sys.executable, "-m", "kafkalite", "--temporary", "--port", "0"]
        process = subprocess.Popen([*command, "--ready-file", str(ready)])
        try:
            while not ready.exists():
                if process.poll() is not None:
                    sys.exit(f"kafkalite ended with code {process.returncode}")
                time.sleep(0.01)
            yield json.loads(ready.read_text())["bootstrap"]
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def step(name: str) -> Iterator[list[str]]:
    """Print one line when a step has ended: its name, what it noted, and how long it took."""
    notes: list[str] = []
    started = time.perf_counter()
    yield notes
    print(f"{name:<9} {', '.join(notes):<66} {time.perf_counter() - started:6.1f} s", flush=True)


def run(bootstrap: str, output: Path) -> bool:
    """Everything but the broker; True when all rows are as expected."""
    with step("flights") as notes:
        flights = data.read_flights()
        expected = data.airport_hours(flights)
        notes += [f"{len(flights):,} read", f"{len(expected):,} airport-hours by pandas"]
    with step("produce") as notes:
        produce.create_topic(bootstrap, TOPIC)
        produce.create_topic(bootstrap, "airport-hours")
        # The watermark must pass the last hour, and every partition's share of the lag with it.
        end = flights["scheduled"].iloc[-1] + pandas.Timedelta(days=job.WATERMARK_DAYS + 1)
        produce.produce_flights(bootstrap, TOPIC, flights, end)
        notes += [f"{len(flights):,} messages into {produce.PARTITIONS} partitions"]
    with step("spark") as notes:
        spark = job.start_spark()
        notes += [f"Spark {spark.version}", job.CONNECTOR.split(":")[1]]
    try:
        with step("stream") as notes:
            query = job.start_hours(spark, bootstrap, output)
            notes += ["Kafka -> Kafka", job.wait(query, "airport-hours")]
        with step("archive") as notes:
            query = job.start_archive(spark, bootstrap, output)
            notes += ["Kafka -> Parquet", job.wait(query, "Parquet")]
    finally:
        spark.stop()
    with step("compare") as notes:
        written = {
            "topic": check.rows_in_topic(bootstrap, "airport-hours"),
            "Parquet": check.rows_in_parquet(output / "airport-hours"),
        }
        wrong = {name: check.differences(expected, rows) for name, rows in written.items()}
        notes += [
            f"{name}: {len(rows):,} rows, {len(wrong[name])} differ"
            for name, rows in written.items()
        ]
    with step("picture") as notes:
        notes += [str(picture.save(written["Parquet"], output / "flights.png"))]
    for name, lines in wrong.items():
        for line in lines[:20]:
            print(f"{name}: {line}")
    return not any(wrong.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--bootstrap", help="HOST:PORT of a Kafka; otherwise kafkalite is started")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="directory")
    arguments = parser.parse_args()
    for made_before in ("airport-hours", "checkpoints"):
        shutil.rmtree(arguments.output / made_before, ignore_errors=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        sys.exit("Spark needs Java 17 or newer: neither JAVA_HOME nor a java on the PATH was found")
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        bootstrap = arguments.bootstrap
        if bootstrap is None:
            with step("broker") as notes:
                bootstrap = stack.enter_context(kafkalite())
                notes += [f"kafkalite at {bootstrap}"]
        try:
            equal = run(bootstrap, arguments.output)
        except KafkaException as error:
            sys.exit(f"Kafka at {bootstrap}: {error}")
    print(
        f"{'all rows equal' if equal else 'ROWS DIFFER':<76} {time.perf_counter() - started:6.1f} s"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
