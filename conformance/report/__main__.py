"""`python -m conformance.report [--again | --files ...] [PART ...]`: run the parts, keep what came.

Each part is a run of pytest, on Apache Kafka and on kafkalite; docs/compatibility.json is written
after each, so that a part can be run again alone, and of it with `--again` those files alone in
which something failed, or with `--files` those that are named.
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
MOST_SECONDS = 2 * 3600
# For requests that nobody thought of; a run of the tests alone gives them less.
GENERATED_SECONDS = 180
FOLDERS = {
    "scenarios": ["conformance/scenarios", "-n", "2", "--dist", "loadgroup"],
    "clients": ["conformance/clients", "--matrix"],
    "spark": ["conformance/spark"],
}


def run(arguments: list[str], outcome: str) -> Any:
    """A run of pytest; what it wrote into the file that `outcome` names. Failures are a result,
    too."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "outcome.json"
        command = [sys.executable, "-m", "pytest", "-q", *arguments, outcome, str(file)]
        subprocess.run(command, check=False, cwd=ROOT, timeout=MOST_SECONDS)
        return json.loads(file.read_text())


def both(arguments: list[str]) -> Any:
    return {kind: run([*arguments, "--broker", kind], "--outcomes") for kind in BROKERS}


def again(name: str, files: list[str] | None) -> Any:
    """The known results of a part, with these files run again; None: those that had failures."""
    runs = json.loads(RESULT.read_text())[name]
    for kind, known in runs.items():
        failed = [path for path, file in known["files"].items() if file["failed"]]
        chosen = failed if files is None else files
        if chosen:
            found = run([*chosen, *FOLDERS[name][1:], "--broker", kind], "--outcomes")
            known["files"] |= found["files"]
            known["seconds"] += found["seconds"]
    return runs


def compared() -> Any:
    """The differential part compares the two brokers by itself."""
    return run(["conformance/differential", "--seconds", str(GENERATED_SECONDS)], "--summary")


def with_itself() -> Any:
    """Apache Kafka compared with Apache Kafka: what differs then is the referee's fault."""
    arguments = ["conformance/differential", "--broker", "kafka"]
    return run([*arguments, "--seconds", str(GENERATED_SECONDS)], "--summary")


PARTS = {
    **{name: lambda arguments=arguments: both(arguments) for name, arguments in FOLDERS.items()},
    "differential": compared,
    "itself": with_itself,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--again", action="store_true", help="only files with failures")
    parser.add_argument("--files", nargs="+", help="only these, of the one part that has them")
    flags = parser.parse_args()
    for name in flags.parts:
        is_part = bool(flags.again or flags.files)
        part = again(name, flags.files) if is_part and name in FOLDERS else PARTS[name]()
        result = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        result |= {"kafka": KAFKA_VERSION, "kafkalite": __version__, name: part}
        RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
