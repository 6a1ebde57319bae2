"""Releases of Apache Kafka, for a broker that is to look like an older one: `kafkalite.as.version`.

A release cuts what is served to the APIs, versions and features that it has. The lowest versions
stay those of Kafka 4 (KIP-896). Behaviour that changed without a version is that of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

TABLE: Final = Path(__file__).parent / "releases.table"


class Release(Struct, frozen=True):
    """The versions of each API by its key, lowest and highest, and the features' levels."""

    name: str
    apis: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]

    def level(self, feature: str, level: int) -> int:
        """A feature's level, but not above the one of this release; 0 if it has none."""
        return min(level, self.features.get(feature, 0))


@cache
def releases() -> dict[str, Release]:
    """All releases by name, the oldest first."""
    lines = TABLE.read_text().splitlines()
    return {each.name: each for each in map(_read, lines) if each is not None}


def _read(line: str) -> Release | None:
    if line.startswith("#") or not line.strip():
        return None
    name, apis, features = (part.strip() for part in line.split("|"))
    ranges = [each.replace("-", ":").split(":") for each in apis.split()]
    levels = [each.split("=") for each in features.split()]
    return Release(
        name,
        {int(key): (int(low), int(high)) for key, low, high in ranges},
        {feature: int(level) for feature, level in levels},
    )
