"""Rooms that do not keep every ban yet: at most so many offences each. Only shrinks; empty at the
end.

`python -m tests.house_unclean ROOM` lists a room's offences.
"""

from __future__ import annotations

import sys

# Modules that have no test of their own name yet.
MISSING_TESTS = 0

# Functions that are still longer than the house allows.
LONG_FUNCTIONS: set[str] = set()

# room: {ban: offences left}
UNCLEAN: dict[str, dict[str, int]] = {}


if __name__ == "__main__":
    from tests.test_house import offences

    for ban, found in offences(sys.argv[1]).items():
        for each in found:
            print(f"{ban}: {each}")
