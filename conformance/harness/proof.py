"""The command of a proof: it runs for a time, with troubles drawn by a seed, and judges."""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

Prove = Callable[[str, float, int, Path, int], str | None]
_OUTPUT_CHARACTERS = 2000


def run_proof(
    description: str | None,
    prove: Prove,
    proven: str,
    brokers: Sequence[str] = ("kafkalite", "kafka"),
) -> int:
    """Run `prove(broker, seconds, seed, directory, nodes)`, which says what was wrong.

    Prints `proven`, or what was wrong with the end of each process' output. The exit code.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--broker", choices=brokers, default=brokers[0])
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=None, help="the same troubles again")
    arguments = parser.parse_args()
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"{arguments.seconds:.0f} s, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="proof-") as directory:
        wrong = prove(arguments.broker, arguments.seconds, seed, Path(directory), arguments.nodes)
        if wrong:
            print(f"WRONG: {wrong}")
            for output in sorted(Path(directory).glob("*.output")):
                text = output.read_text(errors="replace")
                print(f"--- {output.name}\n{text[-_OUTPUT_CHARACTERS:]}")
            return 1
    print(proven)
    return 0
