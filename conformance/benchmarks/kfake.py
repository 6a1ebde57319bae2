"""franz-go's kfake as a broker of the harness: a process, built at first use where Go is
installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from conformance.benchmarks.compiled import HERE, LoadFailed
from conformance.harness.cache import cached
from conformance.harness.ports import free_ports
from conformance.harness.process import OneProcess, Process
from conformance.harness.raw import living_broker_count

# kfake is not versioned; this state of it needs no older franz-go than this.
KFAKE = "github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c"
FRANZ_GO = "github.com/twmb/franz-go@v1.22.0"
START_SECONDS = 30.0


def program() -> Path:
    """kfake with a main of ours; raises LoadFailed."""
    return cached(f"kfake-{KFAKE.rpartition('-')[2]}", build) / "kfake"


def build(directory: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise LoadFailed("--kfake needs Go (https://go.dev/dl)")
    shutil.copy(HERE / "kfake" / "main.go", directory)
    for command in (
        ["mod", "init", "kfake"],
        ["get", KFAKE, FRANZ_GO],
        ["build", "-o", "kfake", "."],
    ):
        subprocess.run([go, *command], cwd=directory, check=True)


class Kfake(OneProcess):
    """It keeps nothing: a restart is a new one. It takes no properties."""

    kind = "kfake"

    def __init__(self, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = self.data_dir = directory
        port = free_ports(1)[0]
        self.bootstrap = f"127.0.0.1:{port}"
        self.command = [str(program()), str(port)]
        self.start()

    def start(self) -> None:
        self.process = Process(self.command, self.directory / "output")
        self.process.wait_until(lambda: living_broker_count(self.bootstrap) == 1, START_SECONDS)
