"""Queues, whatever is killed: `python -m conformance.queue_proof --seconds 1200`.

Workers of one share group, Kafka's own KafkaShareConsumer, take numbers from the partitions of a
topic: they accept nearly all, reject some, release some, and sometimes hold a record for longer
than its lock lasts. Meanwhile, at random, the broker is killed with SIGKILL and started again, and
workers are killed. A record whose acceptance or rejection was confirmed is never delivered again,
and in the end each one is confirmed once.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from conformance.differential.broker_side import Side
from conformance.exactly_once_soak.feeder import Feeder
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.process import Process
from conformance.harness.proof import run_proof
from conformance.queue_proof.judge import Judge
from kafkalite.wire.api_keys import ApiKey
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
# Everything comes to rest within this time once nothing is killed any more.
REST_SECONDS = 120.0
# Records that a worker had locked, and is gone with, come again within this time.
LOCKED_SECONDS = 20.0
PROPERTIES = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.session.timeout.ms": "3000",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "2000",
    # No record is given up for having been delivered too often.
    "group.share.delivery.count.limit": "10",
}


@dataclass
class Worker:
    """A member's place. Each process that has it writes a journal of its own."""

    number: int
    journals: Path
    process: Process | None = None
    started: int = field(default=0)

    def keep_one(self, bootstrap: str, events: Counter[str]) -> None:
        """Start a process where there is none, or the last one has ended."""
        if self.process is not None and self.process.popen.poll() is None:
            return
        self.started += 1
        name = f"{self.number}-{self.started}"
        jvm = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [str(find_java()), *jvm, "-cp", f"{kafka_jars()}/*", str(PROGRAM)]
        arguments = [bootstrap, TOPIC, GROUP, str(self.journals / f"{name}.journal")]
        self.process = Process([*command, *arguments], self.journals / f"{name}.output")
        events["worker started"] += 1

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()


def prove(
    kind: str,
    seconds: float,
    seed: int,
    directory: Path,
    node_count: int = 1,
    program: tuple[str, ...] = ("-m", "kafkalite"),
) -> str | None:
    """Run for that long; what was wrong, or None. `program` stands for the command kafkalite."""
    chance = random.Random(seed)
    broker: Broker
    if kind == "kafka":
        broker = ApacheKafka(directory / "broker", PROPERTIES, node_count)
    else:
        broker = Kafkalite(directory / "broker", PROPERTIES, node_count, program)
    prepare(broker)
    workers = [Worker(number, directory) for number in range(WORKERS)]
    feeder = Feeder(broker.bootstrap, [TOPIC], PARTITIONS)
    judge = Judge(directory)
    feeder.start()
    events: Counter[str] = Counter()
    try:
        end = time.monotonic() + seconds
        report_at = time.monotonic() + 30
        while time.monotonic() < end and judge.verdict is None and feeder.failure is None:
            for worker in workers:
                worker.keep_one(broker.bootstrap, events)
            time.sleep(chance.uniform(0.5, 4.0))
            trouble(chance, broker, workers, judge, events)
            judge.read()
            if time.monotonic() > report_at:
                report_at += 30
                print(f"{end - time.monotonic():.0f} s to go: {tally(judge, events)}", flush=True)
        feeder.enough.set()
        feeder.join()
        wrong = rest(broker, workers, feeder, judge, events)
        print(tally(judge, events), flush=True)
        return wrong
    finally:
        for worker in workers:
            worker.kill()
        broker.kill()


def prepare(broker: Broker) -> None:
    """Make the topic, and let the group begin at its start."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        made.result(30)
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=GROUP, configs=[config]
    )
    side = Side(broker)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    side.until_no_error(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    side.close()


def trouble(
    chance: random.Random,
    broker: Broker,
    workers: list[Worker],
    judge: Judge,
    events: Counter[str],
) -> None:
    """Do one bad thing, or none."""
    dice = chance.random()
    if dice < 0.5:
        judge.kills.append(time.monotonic_ns())
    if dice < 0.3:
        broker.kill()
        time.sleep(chance.choice([0, 0, 0.5, 2.0]))
        broker.start()
        events["broker killed"] += 1
    elif dice < 0.5:
        chance.choice(workers).kill()
        events["worker killed"] += 1


def rest(
    broker: Broker, workers: list[Worker], feeder: Feeder, judge: Judge, events: Counter[str]
) -> str | None:
    """Let the workers take the rest, and compare."""
    written = {partition: count for (_, partition), count in feeder.written.items()}
    begun = time.monotonic()
    while judge.done != written and judge.verdict is None:
        resting = time.monotonic() - begun
        if resting > REST_SECONDS or (
            resting > LOCKED_SECONDS and judge.done + judge.unclear == written
        ):
            break
        for worker in workers:
            worker.keep_one(broker.bootstrap, events)
        time.sleep(0.5)
        judge.read()
    broker.kill()
    broker.start()
    time.sleep(5)  # too much would come now
    judge.read()
    if wrong := judge.verdict or feeder.failure:
        return wrong
    if judge.done + judge.unclear != written:
        return f"not all was acknowledged for good: {dict(judge.done)} of {written}"
    return None


def tally(judge: Judge, events: Counter[str]) -> str:
    counts = ", ".join(f"{name} {count}x" for name, count in sorted(events.items()))
    done, unclear = sum(judge.done.values()), sum(judge.unclear.values())
    return (
        f"{done} records acknowledged for good, {unclear} perhaps, "
        f"{judge.again} deliveries repeated; {counts}"
    )


if __name__ == "__main__":
    sys.exit(run_proof(__doc__, prove, "accepted for good, and delivered until then"))
