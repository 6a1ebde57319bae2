"""Groups of real clients' processes that read numbers, and who feeds them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import Message, Producer

from conformance.harness.apache_kafka import java_command
from conformance.harness.main_classes import MAIN_CLASSES
from conformance.harness.process import start_process

ROOT = Path(__file__).parent.parent.parent
KAFKAJS = ROOT / "conformance" / "scenarios" / "kafkajs.js"
PYTHON = ("librdkafka-classic", "librdkafka-consumer", "kafka-python", "aiokafka")
JAVA = ("java-classic", "java-consumer")


def clients() -> list[str]:
    """All there are on this machine: KafkaJS needs node."""
    has_kafkajs = shutil.which("node") and (ROOT / "conformance/node_modules/kafkajs").is_dir()
    return [*PYTHON, *JAVA, *(["kafkajs"] if has_kafkajs else [])]


def command_of(client: str, bootstrap: str, topic: str, group: str) -> list[str]:
    if client == "kafkajs":
        return ["node", str(KAFKAJS), bootstrap, "member", topic, group]
    if client not in JAVA:
        return [
            sys.executable,
            "-m",
            "conformance.scenarios.group_member",
            client,
            bootstrap,
            topic,
            group,
        ]
    protocol = client.partition("-")[2]
    properties = [f"group.protocol={protocol}", "auto.commit.interval.ms=200"]
    if protocol == "classic":
        properties += ["heartbeat.interval.ms=300"]
    return java_command(
        MAIN_CLASSES["kafka-console-consumer"],
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--from-beginning"),
        *(word for each in properties for word in ("--command-property", each)),
        log_level="error",
    )


class Member:
    """One process; `seen` are the numbers it has read."""

    def __init__(self, client: str, bootstrap: str, topic: str, group: str) -> None:
        self.seen: set[int] = set()
        self._process = start_process(
            command_of(client, bootstrap, topic, group),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def has_ended(self) -> bool:
        """True if its process has ended, by itself or because it was told to."""
        return self._process.poll() is not None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.seen.add(int(line))

    def leave(self) -> None:
        """End it as its user would."""
        self._process.terminate()
        self._end()

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait(30)
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Group:
    """The members of one client, those that have left too."""

    def __init__(self, client: str, bootstrap: str, topic: str, group_id: str, size: int) -> None:
        self.client = client
        self.group_id = group_id
        self._where = (client, bootstrap, topic, group_id)
        self.members = [Member(*self._where) for _ in range(size)]
        self._gone: set[int] = set()

    @property
    def seen(self) -> set[int]:
        return self._gone.union(*(member.seen for member in self.members))

    @property
    def is_whole(self) -> bool:
        """True if all of its members run."""
        return not any(member.has_ended for member in self.members)

    def restart(self, position: int) -> None:
        """One member leaves, and another one comes in its place."""
        self.members[position].leave()
        self._gone |= self.members[position].seen
        self.members[position] = Member(*self._where)

    def close(self) -> None:
        for member in self.members:
            member.kill()


class Feeder:
    """Produces the numbers from 0 on, a hundred a second, to all partitions in turn."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acknowledged: set[int] = set()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        )
        self._topic, self._partitions = topic, partitions
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.01):
            partition = number % self._partitions
            self._producer.produce(
                self._topic, str(number), partition=partition, on_delivery=self._delivered
            )
            self._producer.poll(0)
            number += 1

    def _delivered(self, error: object, message: Message) -> None:
        assert error is None, error
        self.acknowledged.add(int(message.value() or b""))

    def stop(self) -> set[int]:
        """All that was acknowledged: these must be read."""
        self._stopping.set()
        self._thread.join()
        assert self._producer.flush(30) == 0
        return self.acknowledged

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()


def wait_for_more(groups: list[Group], seconds: float, more: int = 20) -> None:
    """Until every group has read so many numbers more than it has now."""
    before = {group.group_id: len(group.seen) for group in groups}
    deadline = time.monotonic() + seconds
    while behind := [g for g in groups if len(g.seen) < before[g.group_id] + more]:
        assert all(g.is_whole for g in behind), [g.client for g in behind if not g.is_whole]
        assert time.monotonic() < deadline, [(g.client, len(g.seen)) for g in behind]
        time.sleep(0.05)


def wait_for_all(groups: list[Group], numbers: set[int], seconds: float) -> None:
    """Until every group has read all of the numbers."""
    deadline = time.monotonic() + seconds
    while lacking := [(g.client, sorted(numbers - g.seen)) for g in groups if numbers - g.seen]:
        assert time.monotonic() < deadline, [(client, left[:20]) for client, left in lacking]
        time.sleep(0.05)
