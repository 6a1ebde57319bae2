"""`python -m conformance.differential.recordings [CLIENT ...]`: record these clients, or all."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from conformance.differential.broker_side import Side
from conformance.differential.recordings.clients import CLIENTS
from conformance.differential.recordings.files import NAME, write
from conformance.differential.wait_ready import PROPERTIES, make_ready
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.recording_proxy import RecordingProxy


def record(client: str) -> str:
    """The outcome in one line."""
    with tempfile.TemporaryDirectory() as directory:
        kafka = ApacheKafka(Path(directory), PROPERTIES)
        try:
            side = Side(kafka)
            make_ready(side)
            side.close()
            proxy = RecordingProxy(kafka.bootstrap)
            CLIENTS[client](proxy.bootstrap, NAME)
            proxy.close()
        finally:
            kafka.stop()
        passed = list(proxy.passed)
        size = write(client, passed, Path(directory))
    return f"{client}: {len(passed)} frames, {size} bytes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", nargs="*", choices=[*CLIENTS, []], default=list(CLIENTS))
    for client in parser.parse_args().clients:
        print(record(client), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
