"""Makes kafkalite/config/releases.table of the jars of each release: `python -m
conformance.releases.derive`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from conformance.harness.jars import resolve
from conformance.harness.java_program import program_command
from kafkalite.config import releases

# The last patch of each release.
PATCHES: Final = {
    "2.8": "2.8.2",
    "3.0": "3.0.2",
    "3.1": "3.1.2",
    "3.2": "3.2.3",
    "3.3": "3.3.2",
    "3.4": "3.4.1",
    "3.5": "3.5.2",
    "3.6": "3.6.2",
    "3.7": "3.7.2",
    "3.8": "3.8.1",
    "3.9": "3.9.1",
    "4.0": "4.0.1",
    "4.1": "4.1.1",
    "4.2": "4.2.0",
    "4.3": "4.3.1",
}
# Metadata versions came to a jar of their own with 3.3.
_FEATURES_SINCE: Final = "3.3"
_PROGRAM: Final = Path(__file__).parent / "Releases.java"
_HEAD: Final = """\
# By release of Apache Kafka: the APIs of brokers (key: lowest to highest stable version), and the
# features of a new cluster. Made by conformance/releases/derive.py, not to be edited.
"""


def line_of(release: str) -> str:
    """A release's line of the table. Raises JarsMissing, JavaMissing."""
    patch = PATCHES[release]
    jars = [f"org.apache.kafka:kafka-clients:{patch}"]
    if list(PATCHES).index(release) >= list(PATCHES).index(_FEATURES_SINCE):
        jars.append(f"org.apache.kafka:kafka-server-common:{patch}")
    directory = resolve(f"release-{patch}", jars)
    command = program_command(_PROGRAM, jars=directory)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in said.splitlines()]
    apis = [f"{key}:{low}-{high}" for _, key, low, high in _of_kind(words, "api", 4)]
    features = sorted(f"{name}={level}" for _, name, level in _of_kind(words, "feature", 3))
    ordered = sorted(apis, key=lambda each: int(each.partition(":")[0]))
    return f"{release} | {' '.join(ordered)} | {' '.join(features)}\n"


def _of_kind(words: list[list[str]], kind: str, size: int) -> list[list[str]]:
    return [each for each in words if each[0] == kind and len(each) == size]


def main() -> None:
    """Write the table."""
    lines = [line_of(release) for release in PATCHES]
    releases.TABLE.write_text(_HEAD + "".join(lines))


if __name__ == "__main__":
    main()
