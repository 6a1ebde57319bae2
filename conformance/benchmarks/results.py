"""Results: samples by measure, figure and broker, kept in a JSON file, and their ratios.

A run replaces the measures it took and leaves the others: a whole set may be taken in pieces.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.benchmarks.table import Figure, Measure
from conformance.harness.kafkalite import version

OURS, THEIRS = "kafkalite", "kafka"

Samples = dict[str, dict[str, list[float]]]  # by figure, by broker


@dataclass(frozen=True)
class Spread:
    """Samples of several rounds."""

    lowest: float
    median: float
    highest: float


def spread(values: Sequence[float]) -> Spread | None:
    return Spread(min(values), statistics.median(values), max(values)) if values else None


def ratios(by_broker: dict[str, list[float]], other: str = THEIRS) -> list[float]:
    """kafkalite : the other, round by round."""
    pairs = zip(by_broker.get(OURS, []), by_broker.get(other, []), strict=False)
    # Memory may shrink, and then a ratio says nothing.
    return [ours / theirs for ours, theirs in pairs if ours > 0 and theirs > 0]


def is_met(figure: Figure, by_broker: dict[str, list[float]]) -> bool | None:
    """True if the bar is kept to; None when there is no bar, or nothing to compare."""
    bar = figure.bar
    if bar is None:
        return None
    values = by_broker.get(OURS, []) if bar.is_absolute else ratios(by_broker)
    if not values:
        return None
    return all(map(bar.is_met, values if bar.in_each_round else [statistics.median(values)]))


class Results:
    """The file. Raises OSError, ValueError for one that is none of ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content: dict[str, Any] = {"machine": {}, "measures": {}}
        if path.exists():
            self.content = json.loads(path.read_text())

    def keep(self, measure: Measure, samples: Samples, taken: str) -> None:
        self.content["machine"] = machine()
        kept = {"taken": taken, "samples": samples, "title": measure.title}
        self.content["measures"][measure.name] = kept
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.content, indent=1, sort_keys=True) + "\n")

    def samples(self, measure: Measure) -> Samples | None:
        kept = self.content["measures"].get(measure.name)
        return None if kept is None else kept["samples"]

    def title(self, measure: Measure) -> str:
        """The title it was measured under: a drawn shape has another each time."""
        kept = self.content["measures"].get(measure.name, {})
        title: str = kept.get("title", measure.title)
        return title

    @property
    def machine(self) -> dict[str, str]:
        return dict(self.content["machine"])


def machine() -> dict[str, str]:
    """The machine and the versions that the figures come from."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": str(os.cpu_count()),
        "kernel": f"Linux {platform.release().split('-')[0]}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "kafkalite": version(),
    }
