"""Queues, whatever is killed: `python -m conformance.queue_proof --seconds 1200`.

Workers of one share group, Kafka's own KafkaShareConsumer, take numbers from the partitions of a
topic: they accept nearly all, reject some, release some, and sometimes hold a record for longer
than its lock lasts. Meanwhile, at random, the broker is killed with SIGKILL and started again, and
workers are killed. A record whose acceptance or rejection was confirmed is never delivered again,
and is confirmed once, unless a member's lock had run out. In the end each one is confirmed. With
`--broker cluster --nodes 3` the broker that is killed is each of three in turn, and with `mixed`
one of them is Apache Kafka's. Their controller is killed, too, and brokers are parted from the
others.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from conformance.exactly_once_soak.__main__ import Killable
from conformance.exactly_once_soak.feeder import Feeder
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.java_program import program_command
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.members import Requests
from conformance.harness.one_of_many import OneOfMany
from conformance.harness.process import Process
from conformance.harness.proof import run_proof
from conformance.queue_proof.judge import Judge
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, GROUP = "work", "queue"
PARTITIONS = 4
WORKERS = 3
GROUP_RESOURCE = 32
PROGRAM = Path(__file__).parent / "Take.java"
# Everything comes to rest within this time once nothing is killed any more, and the first worker
# begins within it.
REST_SECONDS = 120.0
# Records that a worker had locked, and is gone with, come again within this time: its session and
# their locks are over by then. Those whose acknowledgement nobody saw do not come.
LOCKED_SECONDS = 8.0
LOCK_SECONDS = 2.0
# A lock begins at the broker, and its records may be on their way to the consumer for long.
CERTAIN_LOCK_SECONDS = LOCK_SECONDS / 2
# Deliveries are in the journals after this time.
JOURNAL_SECONDS = 2.0
PROPERTIES = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.session.timeout.ms": "3000",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": f"{LOCK_SECONDS * 1000:.0f}",
    # No record is given up for having been delivered too often.
    "group.share.delivery.count.limit": "10",
}


@dataclass
class Worker:
    """A member's place. Each process that has it writes a journal of its own."""

    number: int
    directory: Path
    process: Process | None = None
    started: int = field(default=0)

    def keep_one(self, bootstrap: str, events: Counter[str]) -> None:
        """Start a process where there is none, or the last one has ended."""
        if self.process is not None and self.process.popen.poll() is None:
            return
        self.started += 1
        name = f"{self.number}-{self.started}"
        command = program_command(PROGRAM, "-Xmx128m", "-XX:+UseSerialGC")
        arguments = [bootstrap, TOPIC, GROUP, str(self.directory / f"{name}.journal")]
        self.process = Process([*command, *arguments], self.directory / f"{name}.output")
        events["worker started"] += 1

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()


class Proof:
    """The broker, the workers and the judge."""

    def __init__(self, broker: Killable, directory: Path) -> None:
        self.broker = broker
        self.workers = [Worker(number, directory) for number in range(WORKERS)]
        self.feeder = Feeder(broker.bootstrap, [TOPIC], PARTITIONS)
        self.judge = Judge(directory, CERTAIN_LOCK_SECONDS)
        self.events: Counter[str] = Counter()

    @property
    def written(self) -> dict[int, int]:
        return {partition: count for (_, partition), count in self.feeder.written.items()}

    @property
    def wrong(self) -> str | None:
        return self.judge.verdict or self.feeder.failure

    def work_until(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Let the workers take records until it is so, something is wrong, or time is up."""
        deadline = time.monotonic() + seconds
        while not (reached := is_so()) and self.wrong is None and time.monotonic() < deadline:
            for worker in self.workers:
                worker.keep_one(self.broker.bootstrap, self.events)
            time.sleep(0.5)
            self.judge.read()
        return reached

    @contextmanager
    def harming(self) -> Iterator[None]:
        """Within this, something is killed, and started again."""
        begun = time.monotonic_ns()
        yield
        self.judge.kills.append((begun, time.monotonic_ns()))

    def trouble(self, chance: random.Random) -> None:
        """Do one bad thing, or none."""
        dice = chance.random()
        if dice < 0.3:
            with self.harming():
                self.broker.kill()
                time.sleep(chance.choice([0, 0, 0.5, 2.0]))
                self.broker.start()
            self.events["broker killed"] += 1
        elif dice < 0.5:
            with self.harming():
                chance.choice(self.workers).kill()
            self.events["worker killed"] += 1
        elif dice < 0.6 and isinstance(self.broker, OneOfMany):
            with self.harming():
                done = self.broker.trouble(chance)
            self.events[done] += 1

    def rest(self) -> str | None:
        """Let the workers take the rest, and compare; what was wrong, or None."""
        judge = self.judge
        self.work_until(lambda: judge.done == self.written, LOCKED_SECONDS)
        self.work_until(lambda: judge.done + judge.unclear == self.written, REST_SECONDS)
        if self.wrong is None and judge.done + judge.unclear != self.written:
            return f"not all was acknowledged for good: {dict(judge.done)} of {self.written}"
        with self.harming():
            self.broker.kill()
            self.broker.start()
        # Records come in order: when the last ones are there, what is too much is, too.
        self.feeder.feed_one_more()
        if not self.work_until(lambda: judge.reached == self.written, REST_SECONDS):
            return self.wrong or f"not all was delivered: {dict(judge.reached)} of {self.written}"
        time.sleep(JOURNAL_SECONDS)
        judge.read()
        return self.wrong

    def __str__(self) -> str:
        judge = self.judge
        counts = ", ".join(f"{name} {count}x" for name, count in sorted(self.events.items()))
        return (
            f"{judge.done_count} records acknowledged for good, {judge.late} of them again "
            f"when it was too late, {sum(judge.unclear.values())} perhaps, {judge.again} "
            f"deliveries repeated; {counts}"
        )


def prove(
    kind: str,
    seconds: float,
    seed: int,
    directory: Path,
    node_count: int = 1,
    program: tuple[str, ...] = ("-m", "kafkalite"),
) -> str | None:
    """Run for that long after the first acknowledgement; what was wrong, or None. `program` stands
    for the command kafkalite."""
    chance = random.Random(seed)
    broker, end_broker = started(kind, directory / "broker", node_count, program)
    prepare(broker)
    proof = Proof(broker, directory)
    proof.feeder.start()
    try:
        proof.work_until(lambda: proof.judge.done_count > 0, REST_SECONDS)
        end = time.monotonic() + seconds
        report_at = time.monotonic() + 30
        while time.monotonic() < end and proof.wrong is None:
            # On a slow machine, too, each broker is of use before it is killed.
            done = proof.judge.done_count
            proof.work_until(lambda done=done: proof.judge.done_count > done, REST_SECONDS)
            proof.work_until(lambda: False, chance.uniform(0.5, 4.0))
            proof.trouble(chance)
            if time.monotonic() > report_at:
                report_at += 30
                print(f"{end - time.monotonic():.0f} s to go: {proof}", flush=True)
        proof.feeder.enough.set()
        proof.feeder.join()
        wrong = proof.rest()
        print(proof, flush=True)
        return wrong
    finally:
        for worker in proof.workers:
            worker.kill()
        end_broker()


def started(
    kind: str, directory: Path, node_count: int, program: tuple[str, ...]
) -> tuple[Killable, Callable[[], None]]:
    """The broker to kill, and the way to end all of it."""
    if kind in ("cluster", "mixed"):
        kafka = int(kind == "mixed")
        cluster = OneOfMany(directory, PROPERTIES, node_count, kafka, program)
        return cluster, cluster.close
    broker: Broker
    if kind == "kafka":
        broker = ApacheKafka(directory, PROPERTIES, node_count)
    else:
        broker = Kafkalite(directory, PROPERTIES, node_count, program)
    return broker, broker.kill


def prepare(broker: Killable) -> None:
    """Make the topic, and let the group begin at its start."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS)]).values():
        made.result(30)
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=GROUP, configs=[config]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    with Requests(broker.bootstrap, REST_SECONDS) as connection:
        answer = connection.call(request, 1)
    assert answer.responses[0].error_code == 0, answer


if __name__ == "__main__":
    kinds = ("kafkalite", "kafka", "cluster", "mixed")
    sys.exit(run_proof(__doc__, prove, "accepted for good, and delivered until then", kinds))
