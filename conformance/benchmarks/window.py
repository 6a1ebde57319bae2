"""The cost of the page to those who load the broker: `python -m conformance.benchmarks.window`.

The bulk load of `make bench` (1 KB records, one producer) never ends, and is measured in slices of
a second or two: without --ui, with it and no page open, and with Overview open; then with the spy
on, and with Requests open besides. The order within a round is drawn. Two brokers are loaded, and
the one that is not measured stands still, with its producer. A slice is compared with another one
of the same round, so that a machine whose speed changes from minute to minute changes little. The
spy is a cost of its own, so that Requests is compared with it. It also leaves memory behind, so
that its slices are not among the others.

A browser takes processor time that the load wants, too, and no broker can help that. So the page is
replayed: its requests, at its pace, by threads that draw nothing. `--browser` shows it in Chromium
instead. CPU seconds are the broker's own.

A loss is decided by an interval in which its centre lies with 99 % confidence: that of the
Wilcoxon signed-rank test. With a page open the interval must lie at or below 3 %. With none it must
have 0 in it, too. Either part ends when its losses are decided, which is seen after every 20
rounds. The exit code is 0 if all hold, 1 if one does not, and 2 if `--rounds` were too few to tell.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from enum import Enum
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Final

from rich.progress import track

from conformance.benchmarks.endless_load import SETTLE_SECONDS, Loaded
from conformance.benchmarks.open_page import VIEWS, Browser, Replay
from conformance.benchmarks.sampling import PROPERTIES, thread_seconds
from conformance.harness.kafkalite import Kafkalite
from kafkalite.client.connecting import Client

ALONE_SECONDS: Final = 20
CONFIDENCE: Final = 0.99
MOST_LOST: Final = 0.03
FEWEST: Final = 20
LOOKED_AT: Final = 20


class Verdict(Enum):
    """The exit code of the command, the highest one of all losses."""

    HOLDS = 0
    FAILS = 1
    UNDECIDED = 2


@dataclass(frozen=True)
class Loss:
    """A mode and the one that it adds to. `is_none`: the loss is not to be told from nothing."""

    mode: str
    beside: str
    is_none: bool = False

    def verdict(self, shares: Sequence[float]) -> Verdict:
        """The verdict on the lost share of each round."""
        low, high = interval(shares)
        if low > (0 if self.is_none else MOST_LOST):
            return Verdict.FAILS
        return Verdict.HOLDS if high <= MOST_LOST else Verdict.UNDECIDED


LOSSES: Final = (
    Loss("no page open", "without --ui", is_none=True),
    Loss("Overview open", "no page open"),
    Loss("Requests open", "spy on"),
)
# The losses that are measured in the same rounds.
PARTS: Final = (LOSSES[:2], LOSSES[2:])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The two values between which the centre of all lies with CONFIDENCE; infinite if too few.

    The distribution is taken for symmetric: a slice is as often the first of its pair as the last.
    The values are the averages of all pairs, of which so many are left out at either end as the
    signed-rank statistic's normal approximation says.
    """
    count = len(values)
    if count < FEWEST:
        return -math.inf, math.inf
    averages = sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))
    normal = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    spread_ = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    left_out = math.floor(len(averages) / 2 - normal * spread_)
    return averages[left_out], averages[-1 - left_out]


class Watched:
    """A loaded broker with --ui, and what is open meanwhile."""

    def __init__(self, loaded: Loaded, *, in_browser: bool) -> None:
        self._loaded = loaded
        self._ready = loaded.broker.ready
        self._browser = Browser(self._ready["ui"]) if in_browser else None
        self._client = Client(self._ready["control"]["url"], self._ready["control"]["token"])
        self.took: dict[str, list[tuple[float, int]]] = {}

    def slice(self, seconds: float, view: str | None, *, spy: bool) -> tuple[float, float]:
        """MB/s, and CPU seconds of the broker per GB."""
        with self._loaded.going():
            self._client.ask("requests.clear")
            self._client.ask("spy.set", mode="on" if spy else "off")
            with self._open(view):
                return self._loaded.slice(seconds)

    def _open(self, view: str | None) -> AbstractContextManager[None]:
        if view is None:
            return nullcontext()
        if self._browser is not None:
            return self._browser.showing(view)
        replay = Replay(self._ready["control"], VIEWS[view])
        self.took = replay.took
        return replay

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()


Samples = Mapping[str, Sequence[tuple[float, float]]]


def sampled(directory: Path, seconds: float, rounds: int, *, in_browser: bool) -> Samples:
    """By what is open: (MB/s, CPU seconds per GB) of each round, of `rounds` at most."""
    luck = random.Random(1)
    with ExitStack() as stack:
        plain = Loaded(directory / "plain", {})
        stack.callback(plain.close)
        with_page = Loaded(directory / "ui", {"kafkalite.ui": "true"})
        stack.callback(with_page.close)
        watched = Watched(with_page, in_browser=in_browser)
        stack.callback(watched.close)

        def without() -> tuple[float, float]:
            with plain.going():
                return plain.slice(seconds)

        modes: dict[str, Callable[[], tuple[float, float]]] = {
            "without --ui": without,
            "no page open": lambda: watched.slice(seconds, None, spy=False),
            "Overview open": lambda: watched.slice(seconds, "overview", spy=False),
            "spy on": lambda: watched.slice(seconds, None, spy=True),
            "Requests open": lambda: watched.slice(seconds, "requests", spy=True),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in modes}
        took: dict[str, dict[str, list[tuple[float, int]]]] = {}
        for losses in PARTS:
            names = sorted({name for loss in losses for name in (loss.mode, loss.beside)})
            for name in names:
                modes[name]()  # warm
            for number in track(range(rounds), f"{', '.join(names)}:"):
                for name in luck.sample(names, len(names)):
                    found[name].append(modes[name]())
                    for path, answers in watched.took.items():
                        took.setdefault(name, {}).setdefault(path, []).extend(answers)
                    watched.took = {}
                if (number + 1) % LOOKED_AT == 0:
                    verdicts = [show_loss(found, loss) for loss in losses]
                    if Verdict.UNDECIDED not in verdicts:
                        break
    for name, by_path in took.items():
        show_answers(name, by_path)
    return found


def show_alone(directory: Path) -> None:
    """The cost of each view when nothing else happens."""
    broker = Kafkalite(directory, {**PROPERTIES, "kafkalite.ui": "true"})
    for view, asked in VIEWS.items():
        with Replay(broker.ready["control"], asked):
            time.sleep(SETTLE_SECONDS)
            before = thread_seconds(broker.pid)
            time.sleep(ALONE_SECONDS)
            share = (thread_seconds(broker.pid) - before) / ALONE_SECONDS
        print(f"{view} open, and no load: {share:.1%} of a core", flush=True)
    broker.stop()


def lost(found: Samples, mode: str, beside: str) -> list[float]:
    """The share of the throughput that a mode loses in each round."""
    return [1 - ours[0] / base[0] for ours, base in zip(found[mode], found[beside], strict=True)]


def show_answers(name: str, took: Mapping[str, Sequence[tuple[float, int]]]) -> None:
    for path, answers in took.items():
        milliseconds = statistics.median(seconds for seconds, _ in answers) * 1000
        size = statistics.median(size for _, size in answers) / 1000
        print(f"    {name}: {path} {len(answers)} times, {milliseconds:.1f} ms, {size:.1f} KB")


def show(found: Samples) -> Verdict:
    """Each mode beside the one that it adds to, and the verdicts."""
    print(f"{'':16}{'rounds':>8}{'MB/s':>8}{'loss':>24}{'CPU s per GB':>14}{'more':>26}")
    beside = {loss.mode: loss.beside for loss in LOSSES}
    for name, samples in found.items():
        base = beside.get(name, name)
        more = [ours[1] / its[1] - 1 for ours, its in zip(samples, found[base], strict=True)]
        speed, cpu = (statistics.median(each[index] for each in samples) for index in (0, 1))
        losses = spread(lost(found, name, base))
        row = f"{name:16}{len(samples):8}{speed:8.0f}{losses:>24}{cpu:14.2f}"
        print(f"{row}{spread(more):>26}")
    verdicts = [show_loss(found, loss) for loss in LOSSES]
    return max(verdicts, key=lambda each: each.value)


def show_loss(found: Samples, loss: Loss) -> Verdict:
    shares = lost(found, loss.mode, loss.beside)
    low, high = interval(shares)
    verdict = loss.verdict(shares)
    wanted = "none" if loss.is_none else f"at most {MOST_LOST:.0%}"
    print(
        f"{loss.mode}, beside {loss.beside}, {len(shares)} rounds: the loss is between {low:+.1%} "
        f"and {high:+.1%}, wanted {wanted}: {verdict.name}",
        flush=True,
    )
    return verdict


def spread(shares: Sequence[float]) -> str:
    return " / ".join(
        f"{share:+.1%}" for share in (min(shares), statistics.median(shares), max(shares))
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.window")
    parser.add_argument("--seconds", type=float, default=2.0, help="the length of a slice")
    parser.add_argument("--rounds", type=int, default=200, help="as many at most")
    parser.add_argument("--browser", action="store_true", help="open Chromium, replay nothing")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="window-") as directory:
        show_alone(Path(directory) / "alone")
        found = sampled(Path(directory), flags.seconds, flags.rounds, in_browser=flags.browser)
    return show(found).value


if __name__ == "__main__":
    sys.exit(main())
