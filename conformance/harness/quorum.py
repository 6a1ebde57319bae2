"""A cluster of several processes: Apache Kafka's controllers, and brokers of either kind.

Controllers have ids from 3000, Apache Kafka's brokers from 1, kafkalite's from 11. Each node keeps
its ports and its directory over kill, stop and start.
"""

from __future__ import annotations

import base64
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

from conformance.harness.apache_kafka import JVM_FLAGS, START_SECONDS, java_command
from conformance.harness.broker import SMALL
from conformance.harness.broker_links import BrokerLinks
from conformance.harness.formatting import format_storage
from conformance.harness.kafkalite import PYTHON, ROOT, environment
from conformance.harness.ports import free_ports
from conformance.harness.process import DidNotStart, Process
from conformance.harness.raw import living_broker_count
from conformance.harness.secured_quorum import FORMAT_FLAGS, SecuredQuorum

FIRST_CONTROLLER, FIRST_KAFKA, FIRST_KAFKALITE = 3000, 1, 11
PROGRAM = ("-m", "kafkalite")
JVM = (*JVM_FLAGS[:2], "-Xmx192m")


class Internal(Protocol):
    """A listener of brokers for brokers, and what each node needs for it."""

    def properties(self, node_id: int) -> dict[str, str]: ...

    def listener(self, node_id: int) -> str: ...


class QuorumCluster:
    """`controllers`, `kafka` and `kafkalite`: how many of each. Started and formed when made."""

    def __init__(
        self,
        directory: Path,
        *,
        controllers: int = 1,
        kafka: int = 0,
        kafkalite: int = 3,
        properties: Mapping[str, str] | None = None,
        secured: bool = False,
        linked: bool = False,
        jvm_flags: tuple[str, ...] = JVM,
        program: tuple[str, ...] = PROGRAM,
        release: str = "",
        first_kafkalite: int = FIRST_KAFKALITE,
    ) -> None:
        """`secured`: nodes reach each other by TLS and SASL only (secured_quorum.py).
        `linked`: brokers reach each other over `links`, which can be parted (broker_links.py).

        `jvm_flags` are those of Apache Kafka's brokers. `program` stands for the command kafkalite.
        `release`: that of the features which the controllers begin with, the newest unless it is
        given. `first_kafkalite`: the lowest id of kafkalite's brokers.
        """
        self.program = program
        self.release = release
        self.directory = directory
        # the first byte keeps it from beginning with "-", which the storage tool takes for a flag
        random = b"k" + uuid.uuid4().bytes[1:]
        self.cluster_id = base64.urlsafe_b64encode(random).decode().rstrip("=")
        ports = iter(free_ports(controllers + kafka + kafkalite))
        self.controllers = {FIRST_CONTROLLER + i: next(ports) for i in range(controllers)}
        self.kafka = {FIRST_KAFKA + i: next(ports) for i in range(kafka)}
        self.kafkalite = {first_kafkalite + i: next(ports) for i in range(kafkalite)}
        self.properties = {**SMALL, **(properties or {})}
        self.jvm_flags = jvm_flags
        self.secured = SecuredQuorum(directory, list(self.brokers)) if secured else None
        self.links = BrokerLinks(self.brokers) if linked else None
        # The listener of brokers for brokers, if it is not the one for clients.
        self.internal: Internal | None = self.secured or self.links
        self.processes: dict[int, Process] = {}
        for node_id in self.nodes:
            self.write_properties(node_id)
        try:
            with ThreadPoolExecutor(2) as pool:  # a JVM each
                list(pool.map(self.format, self.nodes))
            for node_id in self.nodes:
                self.start(node_id)
            self.wait()
        except BaseException:
            self.close()
            raise

    @property
    def brokers(self) -> dict[int, int]:
        """Ports by node id, of both kinds."""
        return {**self.kafka, **self.kafkalite}

    @property
    def nodes(self) -> dict[int, int]:
        """Ports by node id, of all."""
        return {**self.controllers, **self.brokers}

    @property
    def bootstrap(self) -> str:
        """All brokers, for clients."""
        return ",".join(f"127.0.0.1:{port}" for port in self.brokers.values())

    def home(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}"

    def data(self, node_id: int) -> Path:
        """The data directory of a node."""
        return self.home(node_id) / "data"

    def file(self, node_id: int) -> Path:
        return self.home(node_id) / "server.properties"

    def write_properties(self, node_id: int) -> None:
        port = self.nodes[node_id]
        is_controller = node_id in self.controllers
        name = "CONTROLLER" if is_controller else "PLAINTEXT"
        voters = ",".join(f"{i}@127.0.0.1:{port}" for i, port in self.controllers.items())
        everything = {
            "process.roles": "controller" if is_controller else "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": self._listeners(node_id, f"{name}://127.0.0.1:{port}"),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data(node_id)),
            "log.cleaner.dedupe.buffer.size": "8388608",
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
        }
        if not is_controller:
            everything["inter.broker.listener.name"] = "PLAINTEXT"
        if self.internal is not None:
            everything |= self.internal.properties(node_id)
        everything |= self.properties
        self.home(node_id).mkdir(parents=True, exist_ok=True)
        self.file(node_id).write_text("".join(f"{k}={v}\n" for k, v in everything.items()))

    def _listeners(self, node_id: int, first: str) -> str:
        if self.internal is None or node_id in self.controllers:
            return first
        return f"{first},{self.internal.listener(node_id)}"

    def is_formatted_by_kafka(self, node_id: int) -> bool:
        """True if `kafka-storage` makes its data directory, and not `kafkalite format`."""
        return node_id not in self.kafkalite

    def format(self, node_id: int) -> None:
        arguments: tuple[str, ...] = ("-t", self.cluster_id, "-c", str(self.file(node_id)))
        if self.is_formatted_by_kafka(node_id):
            if node_id in self.controllers:
                arguments += FORMAT_FLAGS if self.secured else ()
                arguments += ("--release-version", self.release) if self.release else ()
            format_storage(*arguments)
            return
        answer = subprocess.run(
            [PYTHON, *PROGRAM, "format", *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            env=environment(),
            cwd=ROOT,
        )
        if answer.returncode != 0:
            raise DidNotStart(f"format failed:\n{answer.stdout}{answer.stderr}")

    def start(self, node_id: int) -> None:
        """Start it, or start it again; nothing is waited for."""
        file = str(self.file(node_id))
        jvm_flags = JVM if node_id in self.controllers else self.jvm_flags
        command = (
            [PYTHON, *self.program, "--config", file]
            if node_id in self.kafkalite
            else java_command("kafka.Kafka", file, log_level="info", jvm_flags=jvm_flags)
        )
        variables = environment() | {"LC_ALL": "C.UTF-8"}
        output = self.home(node_id) / "output"
        self.processes[node_id] = Process(command, output, environment=variables, directory=ROOT)

    def wait(self, nodes: Sequence[int] | None = None) -> None:
        """Until each broker says that as many as are meant to be there are."""
        for node_id in self.brokers if nodes is None else nodes:
            address = f"127.0.0.1:{self.brokers[node_id]}"
            self.processes[node_id].wait_until(partial(self.sees_all, address), START_SECONDS)

    def sees_all(self, address: str) -> bool:
        """True if the broker at the address knows all others."""
        running = [
            node_id
            for node_id in self.brokers
            if node_id in self.processes and self.processes[node_id].popen.poll() is None
        ]
        return living_broker_count(address) >= len(running)

    def kill(self, node_id: int) -> None:
        """SIGKILL."""
        self.processes[node_id].kill()

    def stop(self, node_id: int) -> int:
        """SIGTERM: others lead first. Its exit status."""
        return self.processes[node_id].stop()

    def pause(self, node_id: int) -> None:
        self.processes[node_id].popen.send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        self.processes[node_id].popen.send_signal(signal.SIGCONT)

    def tail(self, node_id: int) -> str:
        return self.processes[node_id].tail()

    def close(self) -> None:
        """End all at once."""
        for process in self.processes.values():
            process.popen.send_signal(signal.SIGCONT)
            process.popen.kill()
        for process in self.processes.values():
            process.popen.wait()
        if self.links is not None:
            self.links.close()
