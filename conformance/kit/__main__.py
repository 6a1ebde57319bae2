"""`python -m conformance.kit [FIGURE...] [--races N] [--resets N]`: figures of the kit, or long
races.
"""

from __future__ import annotations

import argparse
import sys

import trio

from conformance.kit.bars import BARS
from conformance.kit.races import race_resets, race_waits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.kit", description=__doc__)
    names = f"of {', '.join(BARS)}; all of them unless told"
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=names)
    parser.add_argument("--races", type=int, default=0, help="waits to race")
    parser.add_argument("--resets", type=int, default=0, help="resets under load")
    given = parser.parse_args()
    unknown = [name for name in given.figures if name not in BARS]
    if unknown:
        parser.error(f"there is no figure {unknown[0]!r}: {', '.join(BARS)}")
    if given.races:
        latest = trio.run(race_waits, given.races)
        print(f"{given.races} waits met, the latest {latest * 1000:.1f} ms after its record")
    if given.resets:
        first, last = race_resets(given.resets)
        print(f"{given.resets} resets: {first}, {last}")
        return int(first.has_grown_to(last))
    if given.races:
        return 0
    failed = 0
    for name in given.figures or BARS:
        for bar in BARS[name]():
            print(bar, flush=True)
            failed += bar.value > bar.most
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
