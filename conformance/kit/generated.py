"""A Java client that OpenAPI Generator makes of the control port's description, and a scenario.

The generator knows nothing of kafkalite: what it misunderstands, other people's tools do, too.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from conformance.clients.environments import digest, tool
from conformance.harness.cache import cached
from conformance.harness.jars import resolve
from conformance.harness.java import find_java
from kafkalite.control.openapi import openapi

SCENARIO: Final = Path(__file__).parent / "GeneratedClient.java"
GENERATOR: Final = "org.openapitools:openapi-generator-cli:7.24.0"
# The libraries that a generated client is written for.
LIBRARIES: Final = (
    "com.fasterxml.jackson.core:jackson-databind:2.17.1",
    "com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.17.1",
    "com.google.code.findbugs:jsr305:3.0.2",
    "jakarta.annotation:jakarta.annotation-api:1.3.5",
)
PACKAGES: Final = "apiPackage=kit.api,modelPackage=kit.model,invokerPackage=kit"
OPTIONS: Final = "openApiNullable=false,disallowAdditionalPropertiesIfNotPresent=true"
QUICK: Final = ("-Xmx512m", "-XX:TieredStopAtLevel=1")
SECONDS: Final = 300


def ran(*command: str | Path, directory: Path) -> str:
    """Run a program that must succeed; gives its output."""
    done = subprocess.run(
        [str(each) for each in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=directory,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def built() -> tuple[Path, Path]:
    """The classes of client and scenario, and the libraries' jars.

    Raises ClientMissing, JarsMissing, JavaMissing.
    """
    compiler, java = tool("javac"), find_java()
    libraries = resolve("openapi-client", LIBRARIES)
    generator = resolve("openapi-generator", (GENERATOR,), transitive=False)
    description = msgspec.json.encode(openapi())

    def make(directory: Path) -> None:
        sources = directory / "sources"
        (directory / "openapi.json").write_bytes(description)
        flags = ("-i", "openapi.json", "-g", "java", "--library", "native", "-o", sources)
        wanted = ("--additional-properties", f"{PACKAGES},{OPTIONS}")
        parts = "apis,models,supportingFiles,apiTests=false,modelTests=false"
        left_out = ("--global-property", f"{parts},apiDocs=false,modelDocs=false")
        (jar,) = generator.glob("*.jar")
        ran(java, *QUICK, "-jar", jar, "generate", *flags, *wanted, *left_out, directory=directory)
        files = sorted((sources / "src" / "main" / "java").rglob("*.java"))
        compiled = (
            compiler,
            "-J-XX:TieredStopAtLevel=1",
            "-nowarn",
            "-proc:none",
            "-cp",
            f"{libraries}/*",
            "-d",
            directory,
        )
        ran(*compiled, *files, SCENARIO, directory=directory)
        shutil.rmtree(sources)

    made_of = description + SCENARIO.read_bytes() + GENERATOR.encode() + OPTIONS.encode()
    return cached(f"kit-generated-{digest(made_of)}", make), libraries


def run(url: str, token: str) -> str:
    """The output of the scenario against a control port. Raises as `built` does."""
    classes, libraries = built()
    class_path = ("-cp", f"{classes}:{libraries}/*")
    return ran(find_java(), *QUICK, *class_path, SCENARIO.stem, url, token, directory=classes)
