"""Exactly once, whatever is killed: `python -m conformance.exactly_once_soak --seconds 1200`.

Three pipelines copy numbers from an input to an output topic in transactions: librdkafka and Java
in groups, aiokafka with a transactional id for each partition. Meanwhile, at random: transactions
are aborted, the broker is killed with SIGKILL and started again, workers are killed, and workers
are started with the transactional id of one that lives. One reader with read_committed must see, in
every partition, every number once and in order; in the end the committed offsets must be those of
the output. With `--broker cluster --nodes 3` the broker that is killed is each of three in turn,
and with `mixed` one of them is Apache Kafka's. Their controller is killed, too, and brokers are
parted from the others.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.exactly_once_soak.feeder import Feeder
from conformance.exactly_once_soak.judge import Judge
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.java_program import program_command
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.one_of_many import OneOfMany
from conformance.harness.process import Process
from conformance.harness.proof import run_proof

PARTITIONS = 2
HERE = Path(__file__).parent
# Everything comes to rest within this time once nothing is killed any more.
REST_SECONDS = 120.0


@dataclass
class Worker:
    """A place in a pipeline, by the client and the pipeline's name: whoever has it has its id."""

    client: str
    number: int
    pipeline: str
    processes: list[Process] = field(default_factory=list)

    def command(self, bootstrap: str) -> list[str]:
        client, name = self.client, self.pipeline
        arguments = [bootstrap, f"input-{name}", f"output-{name}", name, f"{name}-{self.number}"]
        if client == "java":
            java = program_command(HERE / "Copy.java", "-Xmx128m", "-XX:+UseSerialGC")
            return [*java, *arguments]
        if client == "aiokafka":
            arguments.append(str(self.number))
        return [sys.executable, "-m", f"conformance.exactly_once_soak.copy_{client}", *arguments]

    def start(self, bootstrap: str, directory: Path) -> None:
        output = directory / f"{self.pipeline}-{self.number}.output"
        root = HERE.parent.parent
        self.processes.append(Process(self.command(bootstrap), output, directory=root))

    def keep_one(self, bootstrap: str, directory: Path, events: Counter[str]) -> None:
        """Forget who has ended; start another when nobody is left."""
        for process in list(self.processes):
            if process.popen.poll() is not None:
                self.processes.remove(process)
        if not self.processes:
            self.start(bootstrap, directory)
            events["worker started"] += 1


def prove(kind: str, seconds: float, seed: int, directory: Path, node_count: int = 1) -> str | None:
    """Run for that long; what was wrong, or None."""
    chance = random.Random(seed)
    broker, end_broker = started(kind, directory / "broker", node_count)
    workers = [Worker(name, i, name) for name in ("librdkafka", "aiokafka") for i in range(2)]
    workers.append(Worker("java", 0, "java"))
    pipelines = sorted({worker.pipeline for worker in workers})
    inputs = [f"input-{name}" for name in pipelines]
    outputs = [f"output-{name}" for name in pipelines]
    make_topics(broker, inputs + outputs)
    feeder = Feeder(broker.bootstrap, inputs, PARTITIONS)
    judge = Judge(broker.bootstrap, outputs, PARTITIONS)
    feeder.start()
    judge.start()
    events: Counter[str] = Counter()
    try:
        end = time.monotonic() + seconds
        report_at = time.monotonic() + 30
        while time.monotonic() < end and judge.verdict is None and feeder.failure is None:
            for worker in workers:
                worker.keep_one(broker.bootstrap, directory, events)
            time.sleep(chance.uniform(0.2, 2.0))
            trouble(chance, broker, workers, directory, events)
            if time.monotonic() > report_at:
                report_at += 30
                print(f"{end - time.monotonic():.0f} s to go: {tally(judge, events)}", flush=True)
        feeder.enough.set()
        feeder.join()
        wrong = rest(broker, workers, directory, feeder, judge, events)
        print(f"{tally(judge, events)}", flush=True)
        return wrong
    finally:
        for worker in workers:
            for process in worker.processes:
                process.kill()
        end_broker()


class Killable(Protocol):
    """A broker that is killed and started again; `bootstrap` stays the same."""

    @property
    def bootstrap(self) -> str: ...

    def kill(self) -> None: ...

    def start(self) -> None: ...


def started(kind: str, directory: Path, node_count: int) -> tuple[Killable, Callable[[], None]]:
    """The broker to kill, and the way to end all of it."""
    properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
    if kind in ("cluster", "mixed"):
        cluster = OneOfMany(directory, properties, node_count, kafka=int(kind == "mixed"))
        return cluster, cluster.close
    starter = {"kafkalite": Kafkalite, "kafka": ApacheKafka}[kind]
    broker: Broker = starter(directory, properties, node_count)
    return broker, broker.kill


def make_topics(broker: Killable, names: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, PARTITIONS) for name in names]).values():
        made.result(30)


def trouble(
    chance: random.Random,
    broker: Killable,
    workers: list[Worker],
    directory: Path,
    events: Counter[str],
) -> None:
    """Do one bad thing, or none."""
    worker = chance.choice(workers)
    dice = chance.random()
    if dice < 0.25:
        broker.kill()
        time.sleep(chance.choice([0, 0, 0.5, 2.0]))
        broker.start()
        events["broker killed"] += 1
    elif dice < 0.35 and worker.processes:
        worker.processes[0].kill()
        events["worker killed"] += 1
    elif dice < 0.42 and len(worker.processes) == 1:
        worker.start(broker.bootstrap, directory)
        events["worker fenced"] += 1
    elif dice < 0.5 and isinstance(broker, OneOfMany):
        events[broker.trouble(chance)] += 1


def rest(
    broker: Killable,
    workers: list[Worker],
    directory: Path,
    feeder: Feeder,
    judge: Judge,
    events: Counter[str],
) -> str | None:
    """Let the pipelines copy what is left, and compare."""
    expected = {
        (topic.replace("input", "output"), partition): count
        for (topic, partition), count in feeder.written.items()
    }
    deadline = time.monotonic() + REST_SECONDS
    while judge.next != expected and not judge.verdict and time.monotonic() < deadline:
        for worker in workers:
            worker.keep_one(broker.bootstrap, directory, events)
        time.sleep(0.5)
    time.sleep(2)  # what is too much would come now
    judge.enough.set()
    judge.join()
    if wrong := judge.verdict or feeder.failure:
        return wrong
    if judge.next != expected:
        return f"not all was copied: {judge.next} of {expected}"
    return compare_offsets(broker, feeder)


def compare_offsets(broker: Killable, feeder: Feeder) -> str | None:
    """The groups have committed exactly what the output has."""
    for topic in {topic for topic, _ in feeder.written}:
        group = topic.removeprefix("input-")
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
        partitions = [TopicPartition(topic, i) for i in range(PARTITIONS)]
        for committed in consumer.committed(partitions, 30):
            written = feeder.written[topic, committed.partition]
            if committed.offset != written:
                return f"{committed}: {written} were written and copied"
        consumer.close()
    return None


def tally(judge: Judge, events: Counter[str]) -> str:
    counts = ", ".join(f"{name} {count}x" for name, count in sorted(events.items()))
    return f"{sum(judge.next.values())} records seen exactly once and in order; {counts}"


if __name__ == "__main__":
    sys.exit(run_proof(__doc__, prove, "exactly once", ("kafkalite", "kafka", "cluster", "mixed")))
