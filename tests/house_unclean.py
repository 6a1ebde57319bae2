"""Rooms that do not keep every ban yet: at most so many offences each. Only shrinks; empty at the end.

`python -m tests.house_unclean ROOM` lists a room's offences.
"""

from __future__ import annotations

import sys

# room: {ban: offences left}
UNCLEAN: dict[str, dict[str, int]] = {
    "kafkalite": {"openings": 4, "columns": 12, "words": 4},
    "kafkalite/apis": {"openings": 10, "stale": 1, "columns": 40, "semicolons": 4, "words": 10, "lines": 1},
    "kafkalite/cluster": {"openings": 24, "columns": 14, "semicolons": 1, "words": 6, "lines": 1},
    "kafkalite/config": {"openings": 13, "columns": 3, "semicolons": 1},
    "kafkalite/control": {"openings": 30, "columns": 60, "semicolons": 5, "words": 15, "lines": 2},
    "kafkalite/coordinators": {"openings": 20, "columns": 25, "semicolons": 1, "words": 5},
    "kafkalite/metrics": {"openings": 9, "columns": 5, "words": 3},
    "kafkalite/peers": {"openings": 30, "columns": 60, "semicolons": 5, "words": 15, "lines": 2},
    "kafkalite/quorum": {"openings": 30, "columns": 60, "semicolons": 5, "words": 15, "lines": 2},
    "kafkalite/replica": {"openings": 12, "columns": 15, "words": 8, "lines": 1},
    "kafkalite/replication": {"openings": 30, "columns": 60, "semicolons": 5, "words": 15},
    "kafkalite/requests": {"openings": 8, "columns": 10, "semicolons": 2, "words": 4},
    "kafkalite/security": {"openings": 30, "columns": 60, "semicolons": 5, "words": 15, "lines": 2},
    "kafkalite/server": {"openings": 12, "columns": 50, "semicolons": 4, "words": 10, "lines": 1},
    "kafkalite/share": {"openings": 30, "columns": 40, "semicolons": 3, "words": 15, "lines": 2},
    "kafkalite/spark": {"openings": 66, "columns": 136, "semicolons": 1, "words": 13, "lines": 1},
    "conformance": {"openings": 130, "columns": 220, "semicolons": 10, "lines": 3, "stale": 2},
    "docs": {"openings": 3, "columns": 10},
    "examples": {"openings": 2},
    "group_coordinator": {
        "openings": 60,
        "columns": 30,
        "semicolons": 4,
        "words": 30,
        "lines": 5,
        "stale": 1,
    },
    "log": {"openings": 65, "columns": 240, "semicolons": 4, "words": 8, "lines": 8, "stale": 2},
    "tests": {"openings": 60, "columns": 140, "semicolons": 8, "lines": 8, "stale": 4},
    "wire": {"openings": 25, "columns": 110, "semicolons": 4, "words": 4, "lines": 4, "stale": 2},
}


if __name__ == "__main__":
    from tests.test_house import offences

    for ban, found in offences(sys.argv[1]).items():
        for each in found:
            print(f"{ban}: {each}")
