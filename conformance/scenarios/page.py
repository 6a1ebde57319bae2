"""The commands and properties of docs/cluster.md: tests do what a newcomer is told to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from conformance.harness.kafkalite import ROOT

PAGE = ROOT / "docs" / "cluster.md"


def block(heading: str, containing: str) -> str:
    """The one block of code under a heading that has this text. Raises ValueError."""
    blocks = re.findall(r"^ *```\w+\n(.*?)^ *```$", section(heading), re.MULTILINE | re.DOTALL)
    return only(blocks, containing)


def inline(heading: str, containing: str) -> str:
    """The one piece of code within the text under a heading. Raises ValueError."""
    pieces = re.findall(r"(?<!`)`([^`]+)`(?!`)", section(heading))
    return " ".join(only(pieces, containing).split())


def section(heading: str) -> str:
    _, _, rest = PAGE.read_text().partition(f"\n{heading}\n")
    return re.split(r"^#{2,3} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def only(codes: list[str], containing: str) -> str:
    """The one that has this text. Raises ValueError."""
    (found, *others) = [each for each in codes if containing in each] or [""]
    if not found or others:
        raise ValueError(f"{containing!r} is not in one piece of code")
    return found


def replaced(text: str, places: Mapping[str, str]) -> str:
    """The text with the reader's own places instead of those of the page."""
    for place, own in places.items():
        if place not in text:
            raise ValueError(f"{place!r} is not in {text!r}")
        text = text.replace(place, own)
    return text


def properties(text: str) -> dict[str, str]:
    pairs = (line.strip().partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name}
