"""The cost of the page to those who load the broker: `python -m conformance.benchmarks.window`.

The bulk load of `make bench` (1 KB records, one producer, the data in memory) never ends, and is
measured in slices of a second or so. A processor that is shared changes its speed from minute to
minute, and two brokers that are configured alike may differ for as long as they live. So what is
compared lies side by side:

- Overview is opened and closed in turns on one broker. A slice with it open is compared with the
  slices before and after it.
- So is Requests, with the spy on all the time: the spy is a cost of its own.
- --ui without a page is compared with no --ui on two fresh brokers, in the order A B B A or B A A
  B: one is stopped while the other is measured. The next two brokers follow.

A browser takes processor time that the load wants, too, and no broker can help that. So the page is
replayed: its requests, at its pace, by threads that draw nothing. `--browser` shows it in Chromium
instead.

A loss is decided by an interval in which its centre lies with 99 % confidence: that of the
Wilcoxon signed-rank test. With a page open the interval must lie at or below 3 %. With none it must
have 0 in it, too. A part ends when its loss is decided, which is seen after every 20 rounds, after
100 at the soonest (40 pairs). The exit code is 0 if all hold, 1 if one does not, and 2 if the
rounds were too few to tell.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import combinations_with_replacement, cycle
from pathlib import Path
from typing import Final

from rich.progress import track

from conformance.benchmarks.endless_load import SETTLE_SECONDS, Loaded
from conformance.benchmarks.open_page import VIEWS, Browser, Replay, Took
from conformance.benchmarks.sampling import PROPERTIES, have_memory, thread_seconds
from conformance.harness.kafkalite import Kafkalite
from kafkalite.client.connecting import Client

MEMORY: Final = Path("/dev/shm")
WARM_BYTES: Final = 4 << 30
WITH_PAGE: Final = {"kafkalite.ui": "true"}
WARM_SECONDS: Final = 2
ALONE_SECONDS: Final = 20
CONFIDENCE: Final = 0.99
MOST_LOST: Final = 0.03
FEWEST: Final = 20
LOOKED_AT: Final = 20
# Nothing is decided before: the first rounds may be lucky.
FIRST_LOOK: Final = 100
FIRST_LOOK_AT_PAIRS: Final = 40

Opened = Callable[[], AbstractContextManager[None]]


class Verdict(Enum):
    """The exit code of the command, the highest one of all losses."""

    HOLDS = 0
    FAILS = 1
    UNDECIDED = 2


@dataclass(frozen=True)
class Loss:
    """A mode, and the one beside it. `is_none`: the loss must not be told from nothing."""

    mode: str
    beside: str
    is_none: bool = False

    def verdict(self, shares: Sequence[float]) -> Verdict:
        """The verdict on the lost share of each round."""
        low, high = interval(shares)
        if low > (0 if self.is_none else MOST_LOST):
            return Verdict.FAILS
        return Verdict.HOLDS if high <= MOST_LOST else Verdict.UNDECIDED


NONE_OPEN: Final = Loss("no page open", "without --ui", is_none=True)
OVERVIEW_OPEN: Final = Loss("Overview open", "no page open")
REQUESTS_OPEN: Final = Loss("Requests open", "spy on")


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


def by_turns(loaded: Loaded, opened: Opened, seconds: float) -> Iterator[float]:
    """The lost share of each slice in which a page is open. The load never stops."""
    before = loaded.slice(seconds)
    while True:
        with opened():
            ours = loaded.slice(seconds)
        after = loaded.slice(seconds)
        yield 1 - ours / ((before + after) / 2)
        before = after


def by_pairs(directory: Path, seconds: float) -> Iterator[float]:
    """The lost share of each pair of fresh brokers, the second of which has --ui and no page.

    The first slice of each only warms it: the first memory that is used takes longest.
    """
    for order in cycle(((0, 1, 1, 0), (1, 0, 0, 1))):
        with tempfile.TemporaryDirectory(dir=directory) as pair, ExitStack() as stack:
            sides: list[Loaded] = []
            for name, properties in (("plain", {}), ("ui", WITH_PAGE)):
                sides.append(Loaded(Path(pair) / name, properties))
                stack.callback(sides[-1].close)
            speeds: list[list[float]] = [[], []]
            for index in (0, 1, *order):
                with sides[index].going():
                    speeds[index].append(sides[index].slice(seconds))
        plain, with_ui = (sum(each[1:]) for each in speeds)
        yield 1 - with_ui / plain


def judged(loss: Loss, shares: Iterator[float], rounds: int, first_look: int) -> Verdict:
    """The verdict as soon as it is clear, after `rounds` at most; it is printed."""
    seen: list[float] = []
    verdict = Verdict.UNDECIDED
    for number in track(range(1, rounds + 1), f"{loss.mode}, beside {loss.beside}:"):
        seen.append(next(shares))
        if number % LOOKED_AT == 0 or number == rounds:
            verdict = show_loss(loss, seen)
            if verdict is not Verdict.UNDECIDED and number >= first_look:
                break
    return verdict


def with_page_open(loss: Loss, view: str, directory: Path, flags: argparse.Namespace) -> Verdict:
    """The verdict on a view. The spy is on, or off, with the page open and without."""
    took: Took = {}
    with ExitStack() as stack:
        loaded = Loaded(directory / view, WITH_PAGE)
        stack.callback(loaded.close)
        ready = loaded.broker.ready
        browser = Browser(ready["ui"]) if flags.browser else None
        if browser is not None:
            stack.callback(browser.close)

        def opened() -> AbstractContextManager[None]:
            if browser is not None:
                return browser.showing(view)
            return Replay(ready["control"], VIEWS[view], took)

        client = Client(ready["control"]["url"], ready["control"]["token"])
        with loaded.going():
            client.ask("spy.set", mode="on" if loss is REQUESTS_OPEN else "off")
            time.sleep(WARM_SECONDS)
            shares = by_turns(loaded, opened, flags.seconds)
            verdict = judged(loss, shares, flags.rounds, FIRST_LOOK)
    show_answers(loss.mode, took)
    return verdict


def with_none_open(directory: Path, flags: argparse.Namespace) -> Verdict:
    """The verdict on --ui without a page."""
    shares = by_pairs(directory, flags.seconds)
    return judged(NONE_OPEN, shares, flags.pairs, FIRST_LOOK_AT_PAIRS)


PARTS: Final[dict[str, Callable[[Path, argparse.Namespace], Verdict]]] = {
    "overview": partial(with_page_open, OVERVIEW_OPEN, "overview"),
    "requests": partial(with_page_open, REQUESTS_OPEN, "requests"),
    "none": with_none_open,
}


def show_alone(directory: Path) -> None:
    """The cost of each view when nothing else happens."""
    broker = Kafkalite(directory, {**PROPERTIES, **WITH_PAGE})
    for view, asked in VIEWS.items():
        with Replay(broker.ready["control"], asked):
            time.sleep(SETTLE_SECONDS)
            before = thread_seconds(broker.pid)
            time.sleep(ALONE_SECONDS)
            share = (thread_seconds(broker.pid) - before) / ALONE_SECONDS
        print(f"{view} open, and no load: {share:.1%} of a core", flush=True)
    broker.stop()


def show_answers(name: str, took: Took) -> None:
    for path, answers in took.items():
        milliseconds = statistics.median(seconds for seconds, _ in answers) * 1000
        size = statistics.median(size for _, size in answers) / 1000
        print(f"    {name}: {path} {len(answers)} times, {milliseconds:.1f} ms, {size:.1f} KB")


def show_loss(loss: Loss, shares: Sequence[float]) -> Verdict:
    low, high = interval(shares)
    verdict = loss.verdict(shares)
    wanted = "none" if loss.is_none else f"at most {MOST_LOST:.0%}"
    print(
        f"{loss.mode}, beside {loss.beside}, {len(shares)} rounds: median "
        f"{statistics.median(shares):+.1%}, the loss is between {low:+.1%} and {high:+.1%}, wanted "
        f"{wanted}: {verdict.name}",
        flush=True,
    )
    return verdict


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.window")
    parser.add_argument("--seconds", type=float, default=1.2, help="the length of a slice")
    parser.add_argument("--rounds", type=int, default=400, help="as many at most with a page open")
    parser.add_argument("--pairs", type=int, default=200, help="as many brokers of each kind")
    parser.add_argument("--only", choices=PARTS, help="the page that is open in one part of it")
    parser.add_argument("--browser", action="store_true", help="open Chromium, replay nothing")
    flags = parser.parse_args(arguments)
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="window-", dir=memory) as name:
        directory = Path(name)
        if flags.only is None:
            show_alone(directory / "alone")
        have_memory(directory, WARM_BYTES)
        parts = PARTS if flags.only is None else (flags.only,)
        return max(PARTS[name](directory, flags).value for name in parts)


if __name__ == "__main__":
    sys.exit(main())
