"""The image where Testcontainers' modules start one, without an engine: their environment, their
start scripts and the lines they wait for, in a directory that has the image's paths.

The modules begin with a shell that waits for a script, and write the script when they know the
port. It exports the address for clients and runs what the image has at a path of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from conformance.harness.ports import free_ports

ROOT = Path(__file__).parent.parent
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
COMMON = {
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
KRAFT = COMMON | {
    "CLUSTER_ID": CLUSTER_ID,
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:{public},BROKER://0.0.0.0:{inner},"
    "CONTROLLER://0.0.0.0:{controller}",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
    "CONTROLLER:PLAINTEXT",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:{controller}",
    "KAFKA_NODE_ID": "1",
}
ZOOKEEPER = COMMON | {
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:{public},BROKER://0.0.0.0:{inner}",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_BROKER_ID": "1",
    "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181",
    "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
}
ADVERTISED = (
    "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:{public},BROKER://localhost:{inner}"
)
FORMAT = "kafka-storage format --ignore-formatted -t X -c /etc/kafka/kafka.properties"


@dataclass(frozen=True)
class Module:
    """A module: its environment, the lines of its script, and what it waits for in the log."""

    name: str
    environment: dict[str, str]
    script: tuple[str, ...]
    waits_for: str = "Transitioning from RECOVERY to RUNNING"
    through_entrypoint: bool = True


MODULES = (
    Module("java, apache/kafka", KRAFT, (ADVERTISED, "/etc/kafka/docker/run")),
    Module("java, cp-kafka", KRAFT, (ADVERTISED, "/etc/confluent/docker/run")),
    Module(
        "go",
        KRAFT,
        (
            "source /etc/confluent/docker/bash-config",
            ADVERTISED,
            "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure",
            f"echo '{FORMAT}' >> /etc/confluent/docker/configure",
            "echo '' > /etc/confluent/docker/ensure",
            "/etc/confluent/docker/configure",
            "/etc/confluent/docker/launch",
        ),
        through_entrypoint=False,
    ),
    Module(
        "python",
        KRAFT,
        (
            f"echo '{FORMAT}' >> /etc/confluent/docker/configure",
            ADVERTISED,
            ". /etc/confluent/docker/bash-config",
            "/etc/confluent/docker/configure",
            "/etc/confluent/docker/launch",
        ),
        waits_for="Kafka Server started",
    ),
    Module(
        "node",
        ZOOKEEPER,
        (
            ADVERTISED,
            "echo '' > /etc/confluent/docker/ensure",
            "zookeeper-server-start zookeeper.properties &",
            "/etc/confluent/docker/run",
        ),
        waits_for=r"\[KafkaServer id=\d+\] started",
        through_entrypoint=False,
    ),
)


def until(seconds: float, holds: object) -> bool:
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(holds())


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.name)
def test_a_module_starts_the_image(module: Module, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "container", tmp_path, dirs_exist_ok=True)
    binaries = tmp_path / "usr" / "local" / "bin"
    command = binaries / "kafkalite"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkalite "$@"\n')
    command.chmod(0o755)
    public, inner, controller = free_ports(3)

    def placed(text: str) -> str:
        """A text with this test's ports and paths."""
        text = text.replace("{public}", str(public)).replace("{inner}", str(inner))
        return text.replace("{controller}", str(controller)).replace("/etc/", f"{tmp_path}/etc/")

    started = tmp_path / "testcontainers_start.sh"
    waiting = f"while [ ! -f {started} ]; do sleep 0.1; done; {started}"
    entrypoint = [str(binaries / "kafkalite-entrypoint")] if module.through_entrypoint else []
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [*entrypoint, "sh", "-c", waiting],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
            start_new_session=True,
            env={
                **{name: placed(value) for name, value in module.environment.items()},
                "KAFKA_LOG_DIRS": str(tmp_path / "data"),
                "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(tmp_path),
            },
        )
    try:
        script = tmp_path / "script"
        script.write_text("\n".join(["#!/bin/bash", *map(placed, module.script)]) + "\n")
        script.chmod(0o755)
        script.rename(started)
        pattern = re.compile(module.waits_for)
        assert until(60, lambda: pattern.search(output.read_text())), output.read_text()
        metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{public}"}).list_topics(timeout=30)
        (node,) = metadata.brokers.values()
        assert (node.id, node.host, node.port) == (1, "127.0.0.1", public)
        if "CLUSTER_ID" in module.environment:
            assert metadata.cluster_id == CLUSTER_ID
    finally:
        os.killpg(process.pid, 15)
        assert process.wait(30) is not None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--version"], "kafkalite "), (["sh", "-c", "echo ran"], "ran"), (["topix"], "no word")],
)
def test_the_entry_point_tells_flags_words_and_commands_apart(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    command = tmp_path / "kafkalite"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkalite "$@"\n')
    command.chmod(0o755)
    entrypoint = ROOT / "container" / "usr" / "local" / "bin" / "kafkalite-entrypoint"
    done = subprocess.run(
        [str(entrypoint), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )
    assert said in done.stdout + done.stderr


def test_the_image_has_these_paths() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "COPY container/ /" in dockerfile
    assert 'ENTRYPOINT ["kafkalite-entrypoint"]' in dockerfile
    for path in (ROOT / "container").rglob("*"):
        assert path.is_dir() or path.stat().st_mode & stat.S_IXUSR, path
