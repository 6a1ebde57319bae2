"""A broker of a cluster that holds very many partitions is started again.

    python -m conformance.benchmarks.many_start --partitions 30000

One process under Apache Kafka's controller. It is asked to leave, and killed, and each time started
again: seconds until it serves, memory then, and the longest time for which anything held its loop.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
import urllib.request
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from conformance.benchmarks.sampling import resident_bytes
from conformance.harness.ports import free_ports
from conformance.harness.quorum import FIRST_KAFKALITE, QuorumCluster

OF_A_TOPIC = 1000
PATIENCE_SECONDS = 300.0
MB = 1_000_000
# On a busy machine a broker is not to be fenced.
SESSION = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}


def fill(cluster: QuorumCluster, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number in range(0, count, OF_A_TOPIC):
        new = NewTopic(f"topic-{number}", min(OF_A_TOPIC, count - number), 1)
        admin.create_topics([new], request_timeout=PATIENCE_SECONDS)[new.topic].result()


def longest_turn_ms(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    found = re.search(r"^kafkalite_event_loop_longest_turn_seconds (\S+)", text, re.MULTILINE)
    assert found is not None
    return 1000 * float(found[1])


def measure(count: int, directory: Path) -> None:
    (port,) = free_ports(1)
    properties = {**SESSION, "kafkalite.metrics.port": str(port)}
    cluster = QuorumCluster(directory, kafkalite=1, properties=properties)
    try:
        begun = time.monotonic()
        fill(cluster, count)
        print(f"{count} partitions made in {time.monotonic() - begun:.1f} s", flush=True)
        for name, end in (("asked to leave", cluster.stop), ("killed", cluster.kill)):
            begun = time.monotonic()
            end(FIRST_KAFKALITE)
            ended = time.monotonic()
            time.sleep(10)  # its session is over: what is measured is not the wait for that
            begun_again = time.monotonic()
            cluster.start(FIRST_KAFKALITE)
            cluster.wait()
            seconds = time.monotonic() - begun_again
            resident = resident_bytes(cluster.processes[FIRST_KAFKALITE].popen.pid) / MB
            print(
                f"{name}: ended in {ended - begun:.1f} s; serves after {seconds:.1f} s, "
                f"{resident:.0f} MB, longest turn {longest_turn_ms(port):.0f} ms",
                flush=True,
            )
    finally:
        cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.many_start")
    parser.add_argument("--partitions", type=int, default=30_000)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-start-") as directory:
        measure(flags.partitions, Path(directory))


if __name__ == "__main__":
    main()
