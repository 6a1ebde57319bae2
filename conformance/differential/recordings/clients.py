"""The clients that are recorded, and what each does. Names that one makes begin with the given
one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from conformance.clients.environments import runnable
from conformance.clients.matrix import CLIENTS as VERSIONS
from conformance.clients.matrix import SPARKS
from conformance.differential.recordings.librdkafka import run as librdkafka
from conformance.harness.tool_process import ToolProcess
from conformance.harness.tools import run_tool

SECONDS = 240


def smoke(version: str) -> Callable[[str, str], None]:
    """Every step of the client's program in conformance/clients/programs."""
    (client,) = (each for each in (*VERSIONS, *SPARKS) if str(each) == version)

    def run(bootstrap: str, name: str) -> None:
        program = runnable(client)
        answer = subprocess.run(
            [*program.command, bootstrap, name, *client.steps],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, **program.environment},
        )
        passed = [f"passed: {step}" for step in client.steps]
        assert answer.stdout.splitlines() == passed, answer.stdout + answer.stderr

    return run


def java_consumer_protocol(bootstrap: str, name: str) -> None:
    """The console tools, in a group of the protocol of KIP-848 twice: the second goes on after the
    first."""
    where = ("--bootstrap-server", bootstrap)
    run_tool("kafka-topics", *where, "--create", "--topic", name, "--partitions", "2")
    for values in ("one\ntwo\nthree\n", "four\n"):
        run_tool("kafka-console-producer", *where, "--topic", name, given=values)
        ran = run_tool(
            *("kafka-console-consumer", *where, "--topic", name, "--group", f"{name}-group"),
            *("--from-beginning", "--max-messages", str(values.count("\n"))),
            *("--timeout-ms", "30000", "--command-property", "group.protocol=consumer"),
        )
        assert sorted(ran.lines) == sorted(values.split()), ran
    for what in ("--describe", "--delete"):
        ran = run_tool("kafka-consumer-groups", *where, what, "--group", f"{name}-group")
        assert ran.status == 0, ran


def java_admin(bootstrap: str, name: str) -> None:
    """A command of each kind of the console tools; what they print is compared in test_tools.py."""
    where = ("--bootstrap-server", bootstrap)
    run_tool("kafka-topics", *where, "--create", "--topic", name, "--partitions", "2")
    run_tool("kafka-console-producer", *where, "--topic", name, given="one\ntwo\nthree\n")
    topic = ("--topic", name)
    about = ("--entity-type", "topics", "--entity-name", name)
    user = ("--entity-type", "users", "--entity-name", name)
    group = ("--group", f"{name}-group")
    commands: list[tuple[str, ...]] = [
        ("kafka-topics", "--describe", *topic),
        ("kafka-topics", "--alter", *topic, "--partitions", "3"),
        ("kafka-topics", "--list"),
        ("kafka-configs", "--alter", *about, "--add-config", "retention.ms=77000"),
        ("kafka-configs", "--describe", *about),
        ("kafka-configs", "--alter", *user, "--add-config", "producer_byte_rate=1024"),
        ("kafka-configs", "--describe", *user),
        ("kafka-get-offsets", *topic, "--time", "latest"),
        ("kafka-get-offsets", *topic, "--time", "max-timestamp"),
        *(
            ("kafka-consumer-groups", "--reset-offsets", *group, *topic, to, "--execute")
            for to in ("--to-earliest", "--to-latest")
        ),
        ("kafka-consumer-groups", "--describe", *group),
        ("kafka-consumer-groups", "--list", "--state"),
        ("kafka-consumer-groups", "--delete-offsets", *group, "--topic", f"{name}:0"),
        ("kafka-consumer-groups", "--delete", *group),
        ("kafka-log-dirs", "--describe", "--topic-list", name),
        ("kafka-leader-election", "--election-type", "preferred", *topic, "--partition", "0"),
        ("kafka-transactions", "list"),
        ("kafka-cluster", "list-endpoints"),
        ("kafka-groups", "--list"),
        ("kafka-topics", "--delete", *topic),
    ]
    with ToolProcess() as tools, tempfile.TemporaryDirectory() as directory:
        records = Path(directory) / "records.json"
        records.write_text(
            f'{{"version":1,"partitions":[{{"topic":"{name}","partition":0,"offset":0}}]}}'
        )
        deletion = ("kafka-delete-records", "--offset-json-file", str(records))
        commands.insert(-1, deletion)
        for tool, *arguments in commands:
            first = where if tool == "kafka-transactions" else ()
            last = () if first else where
            status, printed = tools.run(tool, *first, *arguments, *last)
            assert status == 0, (tool, arguments, printed)


CLIENTS: dict[str, Callable[[str, str], None]] = {
    "librdkafka": librdkafka,
    "kafka-python": smoke("kafka-python-3.0.12"),
    "aiokafka": smoke("aiokafka-0.14.0"),
    "java": smoke("kafka-clients-4.3.1"),
    "java-consumer-protocol": java_consumer_protocol,
    "java-admin": java_admin,
    "kafkajs": smoke("kafkajs-2.2.4"),
    "spark": smoke("pyspark-4.0.0"),
}
