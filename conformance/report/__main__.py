"""`python -m conformance.report [PART ...]`: run the parts, keep what came of them.

Each part is a run of pytest, on Apache Kafka and on kafkalite; docs/compatibility.json is written
after each, so that a part can be run again alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from conformance.harness.jars import KAFKA_VERSION
from kafkalite import __version__

ROOT = Path(__file__).parent.parent.parent
RESULT = ROOT / "docs" / "compatibility.json"
BROKERS = ("kafka", "kafkalite")
FOLDERS = {
    "scenarios": ["conformance/scenarios", "-n", "2", "--dist", "loadgroup"],
    "clients": ["conformance/clients", "--matrix"],
    "spark": ["conformance/spark"],
}


def run(arguments: list[str], outcome: str) -> Any:
    """A run of pytest; what it wrote into the file that `outcome` names. Failures are a result, too."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "outcome.json"
        command = [sys.executable, "-m", "pytest", "-q", *arguments, outcome, str(file)]
        subprocess.run(command, check=False, cwd=ROOT)
        return json.loads(file.read_text())


def both(arguments: list[str]) -> Any:
    return {kind: run([*arguments, "--broker", kind], "--outcomes") for kind in BROKERS}


def compared() -> Any:
    """The differential part compares the two brokers by itself."""
    return run(["conformance/differential"], "--summary")


PARTS = {
    **{name: lambda arguments=arguments: both(arguments) for name, arguments in FOLDERS.items()},
    "differential": compared,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    for name in parser.parse_args().parts:
        result = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        result |= {"kafka": KAFKA_VERSION, "kafkalite": __version__, name: PARTS[name]()}
        RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
