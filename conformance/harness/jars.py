"""Jars by name from Maven Central: resolved once with all they depend on, then kept.

With Maven when it is on the machine, else with the Ivy that lies among PySpark's own jars.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.harness.cache import cached
from conformance.harness.java import find_java

KAFKA_VERSION = "4.3.1"
# The broker and the console tools; SLF4J's simplest binding, so that a failure leaves a log.
KAFKA = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
KAFKA_SHELL = (
    f"org.apache.kafka:kafka-shell:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
KAFKA_STREAMS = (
    f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
RESOLVE_SECONDS = 600
# For Maven, where nothing else is set: it lives for seconds.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class JarsMissing(Exception):
    """The jars are not here and could not be brought; the message says why."""


def kafka_jars() -> Path:
    """The directory with Apache Kafka's jars."""
    return resolve(f"kafka-{KAFKA_VERSION}", KAFKA)


def kafka_shell_jars() -> Path:
    """The directory with the jars of kafka-metadata-shell."""
    return resolve(f"kafka-shell-{KAFKA_VERSION}", KAFKA_SHELL)


def kafka_streams_jars() -> Path:
    """The directory with the jars of Kafka Streams."""
    return resolve(f"kafka-streams-{KAFKA_VERSION}", KAFKA_STREAMS)


def resolve(name: str, coordinates: Sequence[str], *, transitive: bool = True) -> Path:
    """The directory with the jars of `group:artifact:version`, and of all they depend on if
    transitive.

    `name` is for people who look into the cache. Raises JarsMissing, JavaMissing.
    """
    digest = hashlib.sha256(" ".join(coordinates).encode()).hexdigest()[:12]
    return cached(f"{name}-{digest}", lambda directory: bring(coordinates, directory, transitive))


def bring(coordinates: Sequence[str], directory: Path, transitive: bool) -> None:
    maven, ivy = shutil.which("mvn"), find_ivy()
    work = directory / "resolving"
    work.mkdir()
    if maven:
        command = with_maven(maven, coordinates, work, directory, transitive)
    elif ivy:
        command = with_ivy(ivy, coordinates, work, directory, transitive)
    else:
        raise JarsMissing("to bring jars, install Maven (apt-get install maven) or PySpark (pip)")
    home = str(find_java().resolve().parent.parent)
    environment = {"MAVEN_OPTS": SHORT_LIVED, **os.environ, "JAVA_HOME": home}
    answer = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=RESOLVE_SECONDS,
        env=environment,
    )
    if answer.returncode != 0 or not any(directory.glob("*.jar")):
        tail = (answer.stdout + answer.stderr)[-2000:]
        raise JarsMissing(f"{' '.join(coordinates)} could not be resolved:\n{tail}")
    shutil.rmtree(work)


def with_maven(
    maven: str, coordinates: Sequence[str], work: Path, directory: Path, transitive: bool
) -> list[str]:
    everything = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    exclusions = "" if transitive else f"<exclusions>{everything}</exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{exclusions}</dependency>"
        for group, artifact, version in (coordinate.split(":") for coordinate in coordinates)
    )
    pom = work / "pom.xml"
    pom.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>kafkalite</groupId><artifactId>conformance</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )
    goal = "dependency:copy-dependencies"
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    return [maven, "-q", "-B", "-f", str(pom), goal, *options]


def find_ivy() -> Path | None:
    """The Ivy jar inside PySpark, without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))), None)


def with_ivy(
    ivy: Path, coordinates: Sequence[str], work: Path, directory: Path, transitive: bool
) -> list[str]:
    dependencies = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="default"'
        f' transitive="{str(transitive).lower()}"/>'
        for group, artifact, version in (coordinate.split(":") for coordinate in coordinates)
    )
    module = work / "ivy.xml"
    module.write_text(
        '<ivy-module version="2.0"><info organisation="kafkalite" module="conformance"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    pattern = f"{directory}/[artifact]-[revision](-[classifier]).[ext]"
    return [
        *(str(find_java()), "-jar", str(ivy), "-cache", str(work / "cache"), "-ivy", str(module)),
        # a "bundle" is a jar, too
        *("-confs", "default", "-types", "jar", "bundle", "-retrieve", pattern),
    ]
