"""Apache Kafka, started from its jars: KRaft, every node broker and controller in one."""

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from conformance.harness.broker import SMALL
from conformance.harness.class_archives import BROKER_ARCHIVE, TOOLS_ARCHIVE, archive_flags
from conformance.harness.formatting import format_storage
from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java
from conformance.harness.ports import free_ports, listening_ports
from conformance.harness.process import DidNotStart, Process
from conformance.harness.raw import living_broker_count

# Seconds where there is nothing else to do; after a kill, on a loaded machine, its recovery takes
# longer.
START_SECONDS = 180.0
# Short-lived and on few cores: the quick compiler and the plain collector start soonest.
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
JVM_FLAGS = (QUICK_COMPILER, "-XX:+UseSerialGC", "-Xmx512m")

# The settings of an operator: for benchmarks.
SERVER_JVM_FLAGS = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Xms768m", "-Xmx768m")


def java_command(
    main_class: str,
    *arguments: str,
    log_level: str = "warn",
    jvm_flags: tuple[str, ...] = JVM_FLAGS,
    jars: Path | None = None,
) -> list[str]:
    """Run a class of Apache Kafka's jars; with the archive of its classes, unless `jvm_flags` are
    those of an operator."""
    jars = jars or kafka_jars()
    level = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}"
    archive = BROKER_ARCHIVE if main_class == "kafka.Kafka" else TOOLS_ARCHIVE
    if QUICK_COMPILER in jvm_flags:
        jvm_flags = (*jvm_flags, *archive_flags(archive, jars, jvm_flags))
    return [str(find_java()), *jvm_flags, level, "-cp", f"{jars}/*", main_class, *arguments]


class ApacheKafka:
    """The reference: `node_count` nodes, ids from 1, each a process with its own directory."""

    kind = "kafka"
    jvm_flags: tuple[str, ...] = JVM_FLAGS
    # None: those of the newest release.
    jars: Path | None = None

    def __init__(
        self, directory: Path, properties: Mapping[str, str] | None = None, node_count: int = 1
    ) -> None:
        self.directory = directory
        self.node_count = node_count
        ports = free_ports(2 * node_count)
        self.ports, self.controller_ports = ports[:node_count], ports[node_count:]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.data_dir = directory / "node-1" / "data"
        # the first byte keeps it from beginning with "-", which the storage tool takes for a flag
        random = b"k" + uuid.uuid4().bytes[1:]
        self.cluster_id = base64.urlsafe_b64encode(random).decode().rstrip("=")
        self.processes: list[Process] = []
        everything = {**SMALL, **(properties or {})}
        node_ids = range(1, node_count + 1)
        with ThreadPoolExecutor(node_count) as pool:  # a JVM each
            list(pool.map(partial(self.format, properties=everything), node_ids))
        self.start()

    def home(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}"

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        """Write server.properties; format the storage directory, unless it was another broker's."""
        voters = enumerate(self.controller_ports, start=1)
        port, controller_port = self.ports[node_id - 1], self.controller_ports[node_id - 1]
        everything = {
            "process.roles": "broker,controller",
            "node.id": str(node_id),
            "controller.quorum.voters": ",".join(f"{i}@127.0.0.1:{port}" for i, port in voters),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(self.home(node_id) / "data"),
            # a killed node is let in again when its old session is over
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            **properties,
        }
        self.home(node_id).mkdir(parents=True, exist_ok=True)
        file = self.home(node_id) / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in everything.items()))
        if (self.home(node_id) / "data" / "meta.properties").exists():
            return  # a directory that has had a broker
        arguments = ("-t", self.cluster_id, "-c", str(file))
        if self.jars is None:
            format_storage(*arguments)
            return
        answer = subprocess.run(
            java_command("kafka.tools.StorageTool", "format", *arguments, jars=self.jars),
            check=False,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
        if answer.returncode != 0:
            raise DidNotStart(f"format failed:\n{answer.stdout}{answer.stderr}")

    def start(self) -> None:
        self.processes = [
            Process(
                java_command(
                    "kafka.Kafka",
                    str(self.home(node_id) / "server.properties"),
                    log_level="info",
                    jvm_flags=self.jvm_flags,
                    jars=self.jars,
                ),
                self.home(node_id) / "output",
                environment={**os.environ, "LC_ALL": "C.UTF-8"},
            )
            for node_id in range(1, self.node_count + 1)
        ]
        for node_id, process in enumerate(self.processes, start=1):
            address = f"127.0.0.1:{self.ports[node_id - 1]}"
            process.wait_until(partial(self.all_living, address), START_SECONDS)
            # It opens one after another.
            wanted = self.listener_ports(node_id)
            process.wait_until(partial(self.all_listen, wanted), START_SECONDS)

    def all_listen(self, ports: set[int]) -> bool:
        """True if somebody listens on each of them."""
        return ports <= listening_ports()

    def listener_ports(self, node_id: int) -> set[int]:
        """The ports of the node's listeners, as its properties name them."""
        lines = (self.home(node_id) / "server.properties").read_text().splitlines()
        (listeners,) = (line for line in lines if line.startswith("listeners="))
        return {int(each.rpartition(":")[2]) for each in listeners.split(",")}

    def all_living(self, address: str) -> bool:
        """True if the node at the address knows that every node is there."""
        return living_broker_count(address) >= self.node_count

    @property
    def pid(self) -> int:
        return self.processes[0].popen.pid

    def stop(self) -> int:
        for process in self.processes:
            process.popen.terminate()
        return max(process.stop() for process in self.processes)

    def kill(self) -> None:
        for process in self.processes:
            process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def tail(self) -> str:
        return "\n".join(process.tail() for process in self.processes)


class ServerKafka(ApacheKafka):
    """Apache Kafka with the JVM of a server, which starts slower and runs faster."""

    jvm_flags = SERVER_JVM_FLAGS
