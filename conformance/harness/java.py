"""Java 17 or newer: found where it usually is, installed with apt where that is possible."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

NEEDED_VERSION = 17
DEBIAN_PACKAGE = "openjdk-17-jre-headless"
DEBIAN_FALLBACK = "default-jre-headless"


class JavaMissing(Exception):
    """No Java that is new enough; the message says what to install."""


def candidates() -> Iterator[Path]:
    """Places where a Java may be, best first: JAVA_HOME, the PATH, where distributions install
    it."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)


def major_version(java: Path) -> int | None:
    """17 for 17.0.15; None when this is no Java that runs."""
    try:
        answer = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except OSError:
        return None
    found = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else None


@functools.cache
def find_java() -> Path:
    """The `java` to run; raises JavaMissing."""
    for java in candidates():
        if (major_version(java) or 0) >= NEEDED_VERSION:
            return java
    raise JavaMissing(
        f"Java {NEEDED_VERSION} or newer is needed and was not found: "
        f"install it (Debian, Ubuntu: apt-get install {DEBIAN_PACKAGE}), or set JAVA_HOME"
    )


def compile_java(source: Path, jars: Path, directory: Path) -> None:
    """Compile a program that is started often, with a directory of jars; classes go into
    `directory`."""
    class_path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
    compiler = ["--module", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn"]
    command = [str(find_java()), *compiler, "-cp", class_path, "-d", str(directory), str(source)]
    subprocess.run(command, check=True)


def install_java() -> None:
    """Install Java with apt, when this is root on a Debian; raises JavaMissing."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        find_java()  # says what to install
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment)
    for package in (DEBIAN_PACKAGE, DEBIAN_FALLBACK):
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
        if subprocess.run(command, check=False, env=environment).returncode == 0:
            break
    find_java.cache_clear()
    find_java()
