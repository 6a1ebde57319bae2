"""The packages in clients/ for other platforms, with the examples in examples/testing/ as tests.

Each is built once for its sources, into the cache, with a client of Kafka from its package index.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance.clients.environments import (
    QUICKLY_COMPILED,
    Runnable,
    bring,
    digest,
    node_client,
    tool,
)
from conformance.clients.matrix import CLIENTS
from conformance.harness.cache import cached
from conformance.harness.jars import resolve
from conformance.harness.java import find_java

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ROOT / "clients"
EXAMPLES = ROOT / "examples" / "testing"
JAVA_JARS = (
    "org.apache.kafka:kafka-clients:4.3.1",
    "org.slf4j:slf4j-nop:1.7.36",
    "org.junit.platform:junit-platform-console-standalone:1.11.4",
)
FRANZ = "github.com/twmb/franz-go@v1.22.2"


@dataclass(frozen=True)
class Kit:
    """One platform. `build` gives the command that runs its examples; `passed` is in its output
    if all of them have passed."""

    name: str
    build: Callable[[], Runnable]
    passed: str


def sources(*folders: Path) -> bytes:
    """All that a build is made of."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files)


def compiled(command: list[str], directory: Path) -> None:
    """Compile. A mistake in the source is no reason to leave the tests out."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr


def java() -> Runnable:
    """The JUnit 5 extension."""
    jars = resolve("kit-java", JAVA_JARS)
    folders = (PACKAGES / "java", EXAMPLES / "java")

    def make(directory: Path) -> None:
        files = [str(path) for folder in folders for path in sorted(folder.rglob("*.java"))]
        compiled([tool("javac"), "-cp", f"{jars}/*", "-d", str(directory), *files], directory)

    classes = cached(f"kit-java-{digest(sources(*folders))}", make)
    options = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jars}/*")
    launch = ("org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner")
    return Runnable((str(find_java()), *options, *launch, "--scan-classpath", str(classes)))


def go() -> Runnable:
    """The helper for testing.TB."""
    folders = (PACKAGES / "go", EXAMPLES / "go")

    def make(directory: Path) -> None:
        compiler = tool("go")
        for path in folders[1].glob("*.go"):
            shutil.copy(path, directory)
        module = "kafkalite.io/testing"
        here = (f"-require={module}@v0.0.0", f"-replace={module}={folders[0]}")
        bring([compiler, "mod", "init", "orders"], directory)
        bring([compiler, "mod", "edit", *here], directory)
        bring([compiler, "get", FRANZ], directory)
        bring([compiler, "mod", "tidy"], directory)
        compiled([compiler, "test", QUICKLY_COMPILED, "-c", "-o", "orders.test", "."], directory)

    directory = cached(f"kit-go-{digest(sources(*folders))}", make)
    return Runnable((str(directory / "orders.test"), "-test.v"))


def node() -> Runnable:
    """The hooks for Jest, Vitest and node:test."""
    (kafkajs,) = [client for client in CLIENTS if client.name == "kafkajs"]
    modules = Path(node_client(kafkajs).environment["NODE_PATH"])

    def make(directory: Path) -> None:
        (directory / "node_modules").mkdir()
        (directory / "node_modules" / "kafkajs").symlink_to(modules / "kafkajs")
        shutil.copytree(PACKAGES / "node", directory / "node_modules" / "kafkalite")
        shutil.copytree(EXAMPLES / "node", directory, dirs_exist_ok=True)

    name = f"kit-node-{digest(sources(PACKAGES / 'node', EXAMPLES / 'node'))}"
    (program,) = cached(name, make).glob("*.test.mjs")
    return Runnable((tool("node"), "--test", "--test-reporter=tap", str(program)))


def dotnet() -> Runnable:
    """No package: the calls of .NET's own HTTP client, in one program."""
    folder = EXAMPLES / "dotnet"

    def make(directory: Path) -> None:
        shutil.copytree(folder, directory / "source")
        project, built = str(directory / "source"), str(directory / "built")
        bring([tool("dotnet"), "restore", project], directory)
        compiled([tool("dotnet"), "build", "--no-restore", project, "-o", built], directory)

    directory = cached(f"kit-dotnet-{digest(sources(folder))}", make)
    return Runnable((tool("dotnet"), str(directory / "built" / "Orders.dll")))


KITS = (
    Kit("java", java, "8 tests successful"),
    Kit("go", go, "\nPASS\n"),
    Kit("node", node, "# pass 6"),
    Kit("dotnet", dotnet, "6 passed"),
)


def run(kit: Kit, ready_file: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run the examples of a platform against the broker of a ready file."""
    built = kit.build()
    variables = {**os.environ, **built.environment, "KAFKALITE_READY_FILE": str(ready_file)}
    return subprocess.run(
        built.command,
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=variables,
        cwd=ready_file.parent,
    )
