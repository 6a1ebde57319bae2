"""schemathesis against a control port: whatever it makes of the OpenAPI, no answer is a 5xx, and
each fits the description.

It is brought by pip into the cache, beside the tests' own packages: it comes with a plugin for
pytest that the tests do not want.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.clients.environments import bring
from conformance.harness.cache import cached
from conformance.kit.bars import process
from kafkalite.client.connecting import Client

PACKAGE = "schemathesis==4.32.5"
CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance"
# They take the time that they are told to.
SLOW = r"/wait$|/rebalance|/roll|/recording|/stream$|/traffic$"
# A topic and a group that are there: most requests would be refused without.
CONFIG = """
[parameters]
"path.cluster" = "default"
"path.topic" = "orders"
"path.group" = "billing"
"path.node" = 1
"""


def tested(examples: int) -> subprocess.CompletedProcess[str]:
    """The report of schemathesis on a control port of its own."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target"]
    packages = cached(
        f"kit-{PACKAGE}", lambda directory: bring([*pip, str(directory), PACKAGE], directory)
    )
    with (
        process("--control-port", "0", "--profile", "test") as (_, ready),
        tempfile.TemporaryDirectory() as directory,
    ):
        url, token = ready["control"]["url"], ready["control"]["token"]
        topic = {"name": "orders", "partitions": 2, "records": [{"value": "1", "count": 5}]}
        group = {"id": "billing", "offsets": {"orders": {"0": 1}}}
        Client(url, token).seed({"topics": [topic], "groups": [group]})
        (Path(directory) / "schemathesis.toml").write_text(CONFIG)
        return subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/v1/openapi.json"),
                *("-H", f"Authorization: Bearer {token}", "--phases", "fuzzing", "--no-color"),
                *("--max-examples", str(examples), "--checks", CHECKS),
                *("--exclude-path-regex", SLOW, "--suppress-health-check", "all"),
                # It knows no way to make a tar file.
                *("--exclude-operation-id", "snapshots_import"),
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(packages)},
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.kit.schema", description=__doc__)
    parser.add_argument("--examples", type=int, default=20, help="requests of each operation")
    done = tested(parser.parse_args().examples)
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
