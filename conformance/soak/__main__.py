"""`python -m conformance.soak --seconds 120`: fails if anything held the loop for over 20 ms.

The work of the loop's own thread counts, by its CPU time, and its waits for a disk (fsync), by the
clock: the longer of the two. A turn that took long because other threads or processes had the core
is not the loop's fault, and does not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from conformance.harness.process import start_process
from conformance.soak.clients import KINDS

MOST_MS: Final = 20.0
SHOWN: Final = 20
START_SECONDS: Final = 30.0
# Clients finish what they are at.
REST_SECONDS: Final = 180.0
# All jobs in the background come often; these topics have three partitions each.
CONFIGS: Final = {
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    "log.retention.check.interval.ms": "2000",
    "metadata.log.max.snapshot.interval.ms": "10000",
    "num.partitions": "3",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="kafkalite-soak-") as directory:
        failed, findings = soak(Path(directory), seconds)
    longest = sorted(findings, reverse=True)
    print(f"{len(findings)} turns of more than 20 ms by the clock; work or waits in the longest:")
    for held_ms, name in longest[:SHOWN]:
        print(f"{held_ms:8.1f} ms  {name}")
    too_long = [each for each in longest if each[0] > MOST_MS]
    print(f"{len(too_long)} held the loop for over {MOST_MS:.0f} ms; clients that failed: {failed}")
    return 1 if too_long or failed else 0


def soak(directory: Path, seconds: float) -> tuple[list[str], list[tuple[float, str]]]:
    """Run the broker and all clients. The clients that failed, and (ms, name) of turns."""
    ready, findings = directory / "ready.json", directory / "findings"
    python = (sys.executable, "-m")
    arguments = ["--port", "0", "--data-dir", str(directory / "data"), "--ready-file", str(ready)]
    for name, value in CONFIGS.items():
        arguments += ["--set", f"{name}={value}"]
    broker = start_process([*python, "conformance.soak.watched", str(findings), *arguments])
    try:
        bootstrap = _bootstrap(broker, ready)
        clients = {
            kind: start_process(
                [*python, "conformance.soak.clients", kind, bootstrap, str(seconds)]
            )
            for kind in KINDS
        }
        until = time.monotonic() + seconds + REST_SECONDS
        failed = [kind for kind, client in clients.items() if not _ends_well(client, until)]
        if broker.poll() is not None:
            failed.append("the broker itself")
    finally:
        broker.terminate()
        broker.wait()
    lines = [json.loads(line) for line in findings.read_text().splitlines()]
    return failed, [(line["held_ms"], line["name"]) for line in lines]


def _bootstrap(broker: subprocess.Popen[bytes], ready: Path) -> str:
    until = time.monotonic() + START_SECONDS
    while not ready.exists():
        if broker.poll() is not None or time.monotonic() > until:
            raise SystemExit("the broker did not start")
        time.sleep(0.05)
    bootstrap: str = json.loads(ready.read_text())["bootstrap"]
    return bootstrap


def _ends_well(client: subprocess.Popen[bytes], until: float) -> bool:
    try:
        return client.wait(max(0.0, until - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        client.kill()
        client.wait()
        return False


if __name__ == "__main__":
    sys.exit(main())
