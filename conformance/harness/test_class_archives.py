"""A JVM that has an archive of its classes reads them from there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.harness.apache_kafka import SERVER_JVM_FLAGS, java_command
from conformance.harness.class_archives import archives_name
from conformance.harness.class_training import make_archives
from conformance.harness.jars import kafka_jars, kafka_shell_jars
from conformance.harness.java_program import program_command
from conformance.harness.main_classes import MAIN_CLASSES
from conformance.harness.tool_process import SOURCE

TOPICS = MAIN_CLASSES["kafka-topics"]


@pytest.fixture(scope="module")
def archives() -> Path:
    return make_archives()


def sources(command: list[str]) -> str:
    """All that the JVM says about the places that it reads classes from."""
    told = [command[0], "-Xlog:class+load", *command[1:]]
    done = subprocess.run(told, input="\0\0\0\0", text=True, capture_output=True, check=False)
    return done.stdout


def test_a_tool_reads_its_classes_from_the_archive(archives: Path) -> None:
    said = sources(java_command(TOPICS, "--version"))
    assert f"{TOPICS} source: shared objects file (top)" in said


def test_so_does_a_broker(archives: Path) -> None:
    said = sources(java_command("kafka.Kafka", "--version"))
    assert "kafka.Kafka$ source: shared objects file (top)" in said


def test_and_a_program_of_ours(archives: Path) -> None:
    said = sources(program_command(SOURCE))
    assert "org.apache.kafka.common.utils.Exit source: shared objects file (top)" in said
    assert f"Tools source: file:{program_command(SOURCE)[-2].rpartition(':')[2]}" in said


def test_who_has_other_jars_or_the_flags_of_an_operator_has_none(archives: Path) -> None:
    assert archives.name == archives_name()
    shared = "-XX:SharedArchiveFile"
    assert shared in " ".join(java_command(TOPICS, jars=kafka_jars()))
    assert shared not in " ".join(java_command(TOPICS, jars=kafka_shell_jars()))
    assert shared not in " ".join(java_command("kafka.Kafka", jvm_flags=SERVER_JVM_FLAGS))


def test_nothing_is_said_about_an_archive_that_does_not_fit(archives: Path) -> None:
    """Answers of tools are compared letter by letter."""
    command = java_command(TOPICS, "--version")
    place = command.index("-cp")
    fitting = subprocess.run(command, capture_output=True, text=True, check=True)
    command[place + 1] = ":".join(map(str, sorted(kafka_jars().glob("*.jar"), reverse=True)))
    other = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (other.stdout, other.stderr) == (fitting.stdout, fitting.stderr)
