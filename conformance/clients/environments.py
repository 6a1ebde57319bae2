"""A client's version, brought by name from its package index into the cache, once: how to run it.

Nothing is installed into the tests' own environment: Python's packages go into a directory that
PYTHONPATH names, jars lie beside Kafka's, Node's modules in a directory of their own, and Go's
programs are built there.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from conformance.clients.matrix import Client
from conformance.harness.cache import cached
from conformance.harness.jars import resolve
from conformance.harness.java import find_java

PROGRAMS = Path(__file__).parent / "programs"
BRING_SECONDS = 900
# Most of the time of a Go program that runs for a second is the compiler's.
QUICKLY_COMPILED = "-gcflags=all=-N -l"


class ClientMissing(Exception):
    """A client could not be brought; the message says why."""


@dataclass(frozen=True)
class Runnable:
    """A command to which the program's arguments are added, and what it needs in its
    environment."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict[str, str])


def runnable(client: Client) -> Runnable:
    """The command that runs the client's program. Raises ClientMissing, JarsMissing,
    JavaMissing."""
    return RUNNERS[Path(client.program).suffix](client)


def bring(command: list[str], directory: Path) -> None:
    answer = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=BRING_SECONDS, cwd=directory
    )
    if answer.returncode != 0:
        tail = (answer.stdout + answer.stderr)[-2000:]
        raise ClientMissing(f"{' '.join(command)} failed:\n{tail}")


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ClientMissing(f"{name} is not on this machine")
    return found


def python_packages(client: Client) -> Path:
    packages = [package for package in client.packages if "==" in package or ">=" in package]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target"]
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return cached(
        f"client-{client}-{python}",
        lambda directory: bring([*pip, str(directory), *packages], directory),
    )


def python_client(client: Client) -> Runnable:
    program = str(PROGRAMS / client.program)
    environment = {"PYTHONPATH": str(python_packages(client))}
    if client.program == "spark.py":
        environment |= spark_environment(client)
    return Runnable((sys.executable, "-W", "ignore", program), environment)


def spark_environment(client: Client) -> dict[str, str]:
    """The connector's jars, without those that PySpark has itself."""
    there = {jar.name for jar in (python_packages(client) / "pyspark" / "jars").iterdir()}
    coordinates = [package for package in client.packages if package.count(":") == 2]
    directory = resolve(f"client-{client}", coordinates, transitive=False)
    jars = [str(jar) for jar in sorted(directory.glob("*.jar")) if jar.name not in there]
    return {
        "JAVA_HOME": str(find_java().resolve().parent.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(jars)} pyspark-shell",
    }


def java_client(client: Client) -> Runnable:
    jars = resolve(f"client-{client}", client.packages)
    program = str(PROGRAMS / client.program)
    command = (str(find_java()), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", program)
    return Runnable(command)


def node_client(client: Client) -> Runnable:
    def make(directory: Path) -> None:
        npm = [tool("npm"), "install", "--no-audit", "--no-fund", "--silent", "--prefix"]
        bring([*npm, str(directory), *client.packages], directory)

    modules = cached(f"client-{client}", make) / "node_modules"
    program = str(PROGRAMS / client.program)
    return Runnable((tool("node"), program), {"NODE_PATH": str(modules)})


def go_client(client: Client) -> Runnable:
    def make(directory: Path) -> None:
        go = tool("go")
        shutil.copy(PROGRAMS / client.program, directory / "main.go")
        bring([go, "mod", "init", "smoke"], directory)
        bring([go, "get", *client.packages], directory)
        bring([go, "mod", "tidy"], directory)
        bring([go, "build", QUICKLY_COMPILED, "-o", "smoke", "."], directory)

    source = (PROGRAMS / client.program).read_bytes()
    directory = cached(f"client-{client}-{digest(source)}", make)
    return Runnable((str(directory / "smoke"),))


def digest(source: bytes) -> str:
    """The program is built into the cache, so another program is another entry."""
    return hashlib.sha256(source).hexdigest()[:12]


RUNNERS: dict[str, Callable[[Client], Runnable]] = {
    ".py": python_client,
    ".java": java_client,
    ".js": node_client,
    ".go": go_client,
}
