"""A Java program of ours: compiled once for each state of its source, however often it runs."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

from conformance.harness.cache import cached
from conformance.harness.class_archives import TOOLS_ARCHIVE, archive_flags
from conformance.harness.jars import kafka_jars
from conformance.harness.java import compile_java, find_java

_JAR = "program.jar"


def program_command(source: Path, *flags: str, jars: Path | None = None) -> list[str]:
    """Run the class that is named like the file, with Apache Kafka's jars or others, and with
    flags of the JVM."""
    jars = jars or kafka_jars()
    digest = hashlib.sha256(source.read_bytes() + str(jars).encode()).hexdigest()[:12]
    name = f"program-{source.stem}-{digest}"
    program = cached(name, lambda directory: _make_jar(source, jars, directory)) / _JAR
    archive = archive_flags(TOOLS_ARCHIVE, jars, flags)
    java = (str(find_java()), "-XX:TieredStopAtLevel=1", *archive, *flags)
    return [*java, "-cp", f"{jars}/*:{program}", source.stem]


def _make_jar(source: Path, jars: Path, directory: Path) -> None:
    """A jar, as the JVM reads no archive where a directory is in the class path."""
    classes = directory / "classes"
    classes.mkdir()
    compile_java(source, jars, classes)
    with zipfile.ZipFile(directory / _JAR, "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    shutil.rmtree(classes)
