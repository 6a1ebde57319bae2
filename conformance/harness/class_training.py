"""Makes the archives of loaded classes (class_archives.py) by a broker and tools."""

from __future__ import annotations

import shutil
from pathlib import Path

from conformance.harness.apache_kafka import JVM_FLAGS, ApacheKafka
from conformance.harness.cache import cached
from conformance.harness.class_archives import (
    BROKER_ARCHIVE,
    TOOLS_ARCHIVE,
    archives_name,
    writing,
)
from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java
from conformance.harness.tool_process import ToolProcess

_TOPIC = _GROUP = "trained"
_CONSUMER = "group.protocol=consumer"


class _FromSource(ToolProcess):
    """Has nothing but the jars in its class path: with whatever comes after them an archive is
    read."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        super().__init__()

    def command(self, source: Path, *flags: str) -> list[str]:
        written = writing(self._archive)
        return [str(find_java()), *flags, *written, "-cp", f"{kafka_jars()}/*", str(source)]


def make_archives() -> Path:
    """The cache's directory with the archives. Raises JavaMissing, JarsMissing, DidNotStart."""
    return cached(archives_name(), train)


def train(directory: Path) -> None:
    """Fill a directory with the archives."""

    class Training(ApacheKafka):
        jvm_flags = (*JVM_FLAGS, *writing(directory / BROKER_ARCHIVE))

    home = directory / "training"
    broker = Training(home)
    try:
        with _FromSource(directory / TOOLS_ARCHIVE) as tools:
            for words in _commands(broker.bootstrap, home):
                tools.run(*words)
    finally:
        broker.stop()
    shutil.rmtree(home)


def _commands(bootstrap: str, home: Path) -> list[tuple[str, ...]]:
    """Commands like those of the tests, one of each kind."""
    to, topic = ("--bootstrap-server", bootstrap), ("--topic", _TOPIC)
    first = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")
    of_topics = ("--entity-type", "topics", "--entity-name", _TOPIC)
    return [
        ("kafka-storage", "info", "-c", str(home / "node-1" / "server.properties")),
        ("kafka-topics", *to, "--create", *topic),
        ("kafka-configs", *to, "--alter", *of_topics, "--add-config", "retention.ms=1000000"),
        ("kafka-configs", *to, "--describe", *of_topics),
        ("kafka-verifiable-producer", *to, *topic, "--max-messages", "4"),
        ("kafka-console-consumer", *to, *topic, *first, "--group", _GROUP),
        ("kafka-console-consumer", *to, *topic, *first, *("--command-property", _CONSUMER)),
        ("kafka-consumer-groups", *to, "--describe", "--all-groups"),
        ("kafka-share-groups", *to, "--list"),
        ("kafka-streams-groups", *to, "--list"),
        ("kafka-transactions", *to, "list"),
        ("kafka-topics", *to, "--describe"),
    ]
