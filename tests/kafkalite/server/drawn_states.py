"""The states of a connection as ARCHITECTURE.md draws them."""

from __future__ import annotations

from pathlib import Path

from kafkalite.server.channel import ChannelState

ARCHITECTURE = Path(__file__).parents[3] / "ARCHITECTURE.md"


def drawn() -> dict[tuple[str, str], str]:
    """The table in ARCHITECTURE.md: (state, event) to the next state, "" where there is none."""
    rows = [
        [cell.strip(" `") for cell in line.strip("|\n").split("|")]
        for line in ARCHITECTURE.read_text().splitlines()
        if line.startswith("| ")
    ]
    header = next(row for row in rows if row[0] == "state")
    table = rows[rows.index(header) + 1 :][: len(ChannelState)]
    return {
        (row[0], event): target
        for row in table
        for event, target in zip(header[1:], row[1:], strict=True)
    }


def interests() -> dict[str, str]:
    return {state: target for (state, event), target in drawn().items() if event == "interest"}
