"""The image where Testcontainers' modules start one, without an engine: their environment, their
start scripts and the lines they wait for, in a directory that has the image's paths.

The modules begin with a shell that waits for a script, and write the script when they know the
port. It exports the address for clients and runs what the image has at a path of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from conformance.harness.ports import free_ports
from tests.kafkalite.security.certificates import Authority

ROOT = Path(__file__).parent.parent
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
COMMON = {
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
TRANSACTIONS = {
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
}
LISTENERS = "PLAINTEXT://0.0.0.0:{public},BROKER://0.0.0.0:{inner}"
WITH_CONTROLLER = {
    "KAFKA_LISTENERS": f"{LISTENERS},CONTROLLER://0.0.0.0:{{controller}}",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
    "CONTROLLER:PLAINTEXT",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1",
}
VOTERS = {"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:{controller}"}
JAVA = {
    **COMMON,
    **TRANSACTIONS,
    **WITH_CONTROLLER,
    "CLUSTER_ID": CLUSTER_ID,
    # The module puts them together from a set, with what `withListener` added.
    "KAFKA_LISTENERS": "CONTROLLER://:{controller},TC-0://localhost:{added},PLAINTEXT://:{public},"
    "BROKER://:{inner}",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,TC-0:PLAINTEXT,"
    "PLAINTEXT:PLAINTEXT,BROKER:PLAINTEXT",
}
GO = {
    **COMMON,
    **TRANSACTIONS,
    **WITH_CONTROLLER,
    **VOTERS,
    "KAFKA_BROKER_ID": "1",
    "KAFKA_REST_BOOTSTRAP_SERVERS": WITH_CONTROLLER["KAFKA_LISTENERS"],
}
PYTHON = {**COMMON, "KAFKA_LISTENERS": LISTENERS, "KAFKA_BROKER_ID": "1"}
NODE = {
    **COMMON,
    "KAFKA_LISTENERS": LISTENERS,
    "KAFKA_BROKER_ID": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
    "KAFKA_ADVERTISED_LISTENERS": "BROKER://localhost:{inner}",
}
NODE_KRAFT = {**NODE, **WITH_CONTROLLER, **VOTERS, "CLUSTER_ID": CLUSTER_ID}
NODE_SASL = {
    **NODE_KRAFT,
    "KAFKA_LISTENERS": "SECURE://0.0.0.0:{secure}," + WITH_CONTROLLER["KAFKA_LISTENERS"],
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
    "SECURE:SASL_SSL,CONTROLLER:PLAINTEXT",
    "KAFKA_SSL_PROTOCOL": "TLSv1.2",
    "KAFKA_SSL_KEYSTORE_LOCATION": "/etc/kafka/secrets/server.keystore.pfx",
    "KAFKA_SSL_KEYSTORE_PASSWORD": "keys",
    "KAFKA_SSL_KEYSTORE_TYPE": "PKCS12",
    "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
    "KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG": "org.apache.kafka.common.security"
    ".scram.ScramLoginModule required;",
}
ADVERTISED = (
    "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:{public},BROKER://localhost:{inner}"
)
FORMAT = "kafka-storage format --ignore-formatted -t X -c /etc/kafka/kafka.properties"
RANDOM_FORMAT = FORMAT.replace("X", '"$(kafka-storage random-uuid)"')
USER = '--add-scram "SCRAM-SHA-512=[name=app,password=letters]"'
ZOOKEEPER = (
    "echo 'clientPort={zookeeper}' > zookeeper.properties",
    "echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties",
    "zookeeper-server-start zookeeper.properties &",
)
NO_ZOOKEEPER = "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure"
BY_HAND = ("/etc/confluent/docker/configure", "/etc/confluent/docker/launch")


@dataclass(frozen=True)
class Module:
    """A module: its environment, the lines of its script, and what it waits for: a line in the log,
    or ports."""

    name: str
    environment: dict[str, str]
    script: tuple[str, ...]
    waits_for: str = "Transitioning from RECOVERY to RUNNING"
    waits_for_ports: tuple[str, ...] = ()
    runs: str = ""
    through_entrypoint: bool = True


MODULES = (
    Module(
        "java, apache/kafka",
        JAVA,
        (f"{ADVERTISED},TC-0://localhost:{{added}}", "/etc/kafka/docker/run"),
    ),
    Module(
        "java, cp-kafka",
        JAVA,
        (f"{ADVERTISED},TC-0://localhost:{{added}}", "/etc/confluent/docker/run"),
    ),
    Module(
        "go",
        GO,
        (
            "source /etc/confluent/docker/bash-config",
            f'{ADVERTISED}"${{EXTRA_ADVERTISED_LISTENERS:+,${{EXTRA_ADVERTISED_LISTENERS}}}}"',
            NO_ZOOKEEPER,
            f"echo '{RANDOM_FORMAT}' >> /etc/confluent/docker/configure",
            "echo '' > /etc/confluent/docker/ensure",
            *BY_HAND,
        ),
        runs="bash ",
        through_entrypoint=False,
    ),
    Module(
        "python",
        PYTHON,
        (
            *ZOOKEEPER,
            "export KAFKA_ZOOKEEPER_CONNECT='localhost:{zookeeper}'",
            ADVERTISED,
            ". /etc/confluent/docker/bash-config",
            *BY_HAND,
        ),
        waits_for=r".*\[KafkaServer id=\d+\] started.*",
        runs="sh ",
    ),
    Module(
        "python, with_kraft",
        # The module's ids are of Base64 with its padding.
        {**PYTHON, **WITH_CONTROLLER, **VOTERS, "CLUSTER_ID": f"{CLUSTER_ID}=="},
        (
            NO_ZOOKEEPER,
            f"echo '{FORMAT}' >> /etc/confluent/docker/configure",
            ADVERTISED,
            ". /etc/confluent/docker/bash-config",
            *BY_HAND,
        ),
        waits_for=".*Kafka Server started.*",
        runs="sh ",
    ),
    Module(
        "node",
        {**NODE, "KAFKA_ZOOKEEPER_CONNECT": "localhost:{zookeeper}"},
        (
            ADVERTISED,
            "echo '' > /etc/confluent/docker/ensure ",
            *ZOOKEEPER,
            "/etc/confluent/docker/run",
        ),
        waits_for_ports=("public", "zookeeper"),
        through_entrypoint=False,
    ),
    Module(
        "node, withKraft",
        NODE_KRAFT,
        (ADVERTISED, "/etc/confluent/docker/run"),
        waits_for_ports=("public",),
        through_entrypoint=False,
    ),
    Module(
        "node, withSaslSslListener",
        NODE_SASL,
        (
            f"{ADVERTISED},SECURE://localhost:{{secure}}",
            f"echo '{FORMAT} {USER}' >> /etc/confluent/docker/configure",
            "/etc/confluent/docker/run",
        ),
        waits_for_ports=("public", "secure"),
        through_entrypoint=False,
    ),
)


def until(seconds: float, holds: object) -> bool:
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(holds())


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def started(module: Module, directory: Path, ports: dict[str, int]) -> Generator[None]:
    """The image in a directory, started as a module does; it is ready by what the module says."""
    shutil.copytree(ROOT / "container", directory, dirs_exist_ok=True)
    binaries = directory / "usr" / "local" / "bin"
    command = binaries / "kafkalite"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkalite "$@"\n')
    command.chmod(0o755)

    def placed(text: str) -> str:
        """A text with this test's ports and paths."""
        for name, port in ports.items():
            text = text.replace(f"{{{name}}}", str(port))
        return text.replace("/etc/", f"{directory}/etc/")

    script = directory / "testcontainers_start.sh"
    waiting = f"while [ ! -f {script} ]; do sleep 0.1; done; {module.runs}{script}"
    entrypoint = [str(binaries / "kafkalite-entrypoint")] if module.through_entrypoint else []
    output = directory / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [*entrypoint, "sh", "-c", waiting],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=directory,
            start_new_session=True,
            env={
                **{name: placed(value) for name, value in module.environment.items()},
                "KAFKA_LOG_DIRS": str(directory / "data"),
                "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(directory),
            },
        )
    try:
        written = directory / "script"
        written.write_text("\n".join(["#!/bin/bash", *map(placed, module.script)]) + "\n")
        written.chmod(0o755)
        written.rename(script)
        if module.waits_for_ports:
            waited = [ports[name] for name in module.waits_for_ports]
            assert until(60, lambda: all(map(listens, waited))), output.read_text()
        else:
            pattern = re.compile(module.waits_for)
            assert until(60, lambda: pattern.search(output.read_text())), output.read_text()
        yield
    finally:
        os.killpg(process.pid, 15)
        assert process.wait(30) is not None


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.name)
def test_a_module_starts_the_image(module: Module, tmp_path: Path) -> None:
    names = ("public", "inner", "controller", "added", "secure", "zookeeper")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    authority = Authority()
    secrets = tmp_path / "etc" / "kafka" / "secrets"
    secrets.mkdir(parents=True)
    keys = authority.server("localhost").pkcs12("keys")
    (secrets / "server.keystore.pfx").write_bytes(keys)
    with started(module, tmp_path, ports):
        public = ports["public"]
        metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{public}"}).list_topics(timeout=30)
        (node,) = metadata.brokers.values()
        assert (node.id, node.host, node.port) == (1, "127.0.0.1", public)
        if "CLUSTER_ID" in module.environment:
            assert metadata.cluster_id == module.environment["CLUSTER_ID"]
        if "TC-0" in module.environment["KAFKA_LISTENERS"]:
            added = f"127.0.0.1:{ports['added']}"
            metadata = AdminClient({"bootstrap.servers": added}).list_topics(timeout=30)
            assert [each.port for each in metadata.brokers.values()] == [ports["added"]]
        if "SECURE" in module.environment["KAFKA_LISTENERS"]:
            client = {
                "bootstrap.servers": f"localhost:{ports['secure']}",
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "app",
                "sasl.password": "letters",
                "ssl.ca.pem": authority.certificate,
            }
            metadata = AdminClient(client).list_topics(timeout=30)
            assert [each.port for each in metadata.brokers.values()] == [ports["secure"]]


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
