"""Killed again and again: `python -m conformance.crash --kills 200`.

Idempotent producers write with acks=all, readers read, and the broker is killed with SIGKILL at
random moments and started again. Then:

- nothing acknowledged is missing: it is at the offset the acknowledgement named, as it was sent;
- nothing appears twice, and each producer's records are in their order;
- no reader ever saw an offset twice with other content, or a record that nobody sent.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite

TOPIC = "crash"
PARTITIONS = 3
PER_SECOND = 500  # records of each writer
REST_SECONDS = 60.0
# Segments roll, indexes fill and checkpoints are written between any two kills.
PROPERTIES = {
    "log.segment.bytes": "1048576",
    "log.index.interval.bytes": "512",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.flush.scheduler.interval.ms": "50",
    "log.initial.task.delay.ms": "50",
}
CLIENT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}

Place = tuple[int, int]  # partition, offset
Sent = tuple[str, int]  # writer, its n-th record


def value_of(writer: str, number: int) -> bytes:
    """The value of a writer's n-th record: up to 3 KB that no other record has."""
    seed = hashlib.blake2b(f"{writer}:{number}".encode(), digest_size=32).digest()
    return b"%s:%d:%s" % (writer.encode(), number, seed * (seed[0] * 100 // 256))


def sent_by(value: bytes) -> Sent | None:
    """The record that these bytes are; None if no producer sends them."""
    writer, _, rest = value.partition(b":")
    number, _, _ = rest.partition(b":")
    if not number.isdigit() or value != value_of(writer.decode(), int(number)):
        return None
    return writer.decode(), int(number)


class Writer(threading.Thread):
    """An idempotent producer that never gives up; `acknowledged` is what it was told."""

    def __init__(self, broker: Broker, name: str, codec: str) -> None:
        super().__init__(daemon=True)
        self.name = name
        self.sent = 0
        self.acknowledged: dict[Place, int] = {}
        self.failure: str | None = None
        self.enough = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "compression.type": codec,
                "linger.ms": 2,
                "message.timeout.ms": 0,  # never
                "queue.buffering.max.messages": 2000,
                **CLIENT,
            }
        )

    def run(self) -> None:
        while not self.enough.is_set() and self.failure is None:
            number = self.sent
            try:
                self._producer.produce(
                    TOPIC,
                    value_of(self.name, number),
                    partition=number % PARTITIONS,
                    on_delivery=self._reporter(number),
                )
                self.sent += 1
            except BufferError:
                self._producer.poll(0.01)
            self._producer.poll(0)
            time.sleep(1 / PER_SECOND)
        if left := self._producer.flush(REST_SECONDS):
            self.failure = f"{left} records of {self.name} were never acknowledged"

    def _reporter(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failure = f"{self.name}: record {number} was given up: {error}"
            else:
                self.acknowledged[message.partition(), message.offset()] = number

        return report


class Reader(threading.Thread):
    """Reads everything, and from the beginning again now and then; `seen` is what was where."""

    def __init__(self, broker: Broker, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.seen: dict[Place, Sent] = {}
        self.read_count = 0
        self.failure: str | None = None
        self.enough = threading.Event()
        self._chance = chance
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
                **CLIENT,
            }
        )
        self.rewind()

    def rewind(self) -> None:
        self._consumer.assign([TopicPartition(TOPIC, i, 0) for i in range(PARTITIONS)])

    def run(self) -> None:
        while not self.enough.is_set() and self.failure is None:
            if self._chance.random() < 0.01:
                self.rewind()
            for message in self._consumer.consume(1000, 0.1):
                self._take(message)
        self._consumer.close()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            # Its log was cut behind what a reader was given: that must never be.
            if error.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
                self.failure = f"a reader was sent back: {error}"
            return
        place = message.partition(), message.offset()
        value = message.value() or b""
        self.read_count += 1
        sent = sent_by(value)
        if sent is None:
            self.failure = f"{place}: {value[:40]!r} was never sent"
        elif self.seen.setdefault(place, sent) != sent:
            self.failure = f"{place}: {sent} now, {self.seen[place]} before"


def crash(
    broker: Broker, kills: int, chance: random.Random, *, say: Callable[[str], None] = print
) -> str | None:
    """Kill the broker that often while clients use it; what was wrong, or None."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **CLIENT})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    writers = [Writer(broker, f"w{i}", codec) for i, codec in enumerate(("none", "lz4", "zstd"))]
    reader = Reader(broker, chance)
    threads: list[Writer | Reader] = [*writers, reader]
    for thread in threads:
        thread.start()
    for kill in range(1, kills + 1):
        await_progress(writers)
        time.sleep(chance.uniform(0, 0.5))
        broker.kill()
        broker.start()
        if any(thread.failure for thread in threads):
            break
        if kill % 20 == 0:
            acknowledged = sum(len(writer.acknowledged) for writer in writers)
            say(f"{kill} kills, {acknowledged:,} acknowledged, {reader.read_count:,} read")
    for writer in writers:
        writer.enough.set()
    for writer in writers:
        writer.join()
    reader.enough.set()
    reader.join()
    failures = [thread.failure for thread in threads if thread.failure]
    return failures[0] if failures else compare(broker, writers, reader, say)


def await_progress(writers: list[Writer]) -> None:
    """Until the clients are at work again: a kill before that would hit nothing."""
    before = sum(len(writer.acknowledged) for writer in writers)
    deadline = time.monotonic() + REST_SECONDS
    while sum(len(writer.acknowledged) for writer in writers) == before:
        if time.monotonic() > deadline:
            return  # the comparison in the end says what is wrong
        time.sleep(0.005)


def compare(
    broker: Broker, writers: list[Writer], reader: Reader, say: Callable[[str], None]
) -> str | None:
    """Everything that is there now, with what was acknowledged and what was seen."""
    found = read_all(broker)
    if isinstance(found, str):
        return found
    for place, sent in reader.seen.items():
        if found.get(place) != sent:
            return f"{place}: a reader saw {sent} there, now it is {found.get(place)}"
    for writer in writers:
        for place, number in writer.acknowledged.items():
            if found.get(place) != (writer.name, number):
                return (
                    f"{place}: {writer.name}'s record {number} was acknowledged, and is not there"
                )
    latest: dict[tuple[int, str], int] = {}
    for (partition, offset), (name, number) in sorted(found.items()):
        if number <= latest.get((partition, name), -1):
            return f"({partition}, {offset}): {name}'s record {number} twice, or out of order"
        latest[partition, name] = number
    acknowledged = sum(len(writer.acknowledged) for writer in writers)
    if len(found) != acknowledged:
        return f"{len(found)} records, of which {acknowledged} were acknowledged, after all were"
    say(
        f"{acknowledged:,} acknowledged records are there, once and in order; "
        f"{reader.read_count:,} reads of {len(reader.seen):,} offsets saw nothing else"
    )
    return None


def read_all(broker: Broker) -> dict[Place, Sent] | str:
    """Every record, each partition to its end; or what is wrong."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "last",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(TOPIC, i, 0) for i in range(PARTITIONS)])
    found: dict[Place, Sent] = {}
    at_end: set[int] = set()
    deadline = time.monotonic() + REST_SECONDS
    while len(at_end) < PARTITIONS:
        for message in consumer.consume(1000, 0.2):
            error = message.error()
            if error is None:
                deadline = time.monotonic() + REST_SECONDS
                place = message.partition(), message.offset()
                sent = sent_by(message.value() or b"")
                if sent is None:
                    return f"{place}: {message.value()!r:.60} was never sent"
                found[place] = sent
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
        if time.monotonic() > deadline:
            return f"nothing came for {REST_SECONDS:.0f} s, before the end of all but {at_end}"
    consumer.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--broker", choices=["kafkalite", "kafka"], default="kafkalite")
    parser.add_argument("--seed", type=int, default=None, help="the same moments again")
    arguments = parser.parse_args()
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"{arguments.kills} kills, seed {seed}", flush=True)
    starter = {"kafkalite": Kafkalite, "kafka": ApacheKafka}[arguments.broker]
    with tempfile.TemporaryDirectory(prefix="crash-") as directory:
        broker: Broker = starter(Path(directory) / "broker", PROPERTIES)
        try:
            wrong = crash(
                broker,
                arguments.kills,
                random.Random(seed),
                say=lambda text: print(text, flush=True),
            )
            if wrong:
                print(f"WRONG: {wrong}\n{broker.tail()}")
                return 1
        finally:
            broker.kill()
    print("nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
