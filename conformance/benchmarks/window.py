"""The cost of the page to those who load the broker: `python -m conformance.benchmarks.window`.

The bulk load of `make bench` (1 KB records, one producer), in rounds whose order turns: without
--ui, with it and no page open, with Overview open, with the spy on, with Requests open. The spy is
a cost of its own, so that Requests is compared with it. A browser takes processor time that the
load wants, too, and no broker can help that. So the page is replayed: its requests, at its pace, by
threads that draw nothing. `--browser` opens Chromium instead. CPU seconds are the broker's own.

A loss is that of a mode beside another of the same round. The command ends as soon as every loss
is decided, after eight rounds at the earliest. It is decided by an interval in which the median
lies with 99 % confidence, whatever the distribution: the order statistics of a sign test. With a
page open the interval must lie at or below 3 %. With none it must have 0 in it, too. The exit code
is 0 if both hold, 1 if one does not, and 2 if `--rounds` were too few to tell.
"""

from __future__ import annotations

import argparse
import math
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from conformance.benchmarks.bulk import KB, Produce
from conformance.benchmarks.sampling import Side, cpu_seconds
from conformance.harness.kafkalite import Kafkalite
from kafkalite.client.connecting import Client

CLUSTER: Final = "/clusters/default"
# The questions of every view, and those of two: path, and pause in seconds (ui/page/poll.js).
FRAME: Final = {"/clusters": 1.0, f"{CLUSTER}/clock": 1.0, f"{CLUSTER}/faults": 1.0}
OVERVIEW: Final = {
    **FRAME,
    CLUSTER: 1.0,
    f"{CLUSTER}/topics": 1.0,
    f"{CLUSTER}/groups": 1.0,
    f"{CLUSTER}/connections": 2.0,
    f"{CLUSTER}/unsupported": 10.0,
    # It counts for a second, and is asked again at once.
    (TRAFFIC := f"{CLUSTER}/traffic"): 1.0,
}
# The last requests and events are asked for once, and the stream has all that come.
REQUESTS: Final = {
    **FRAME,
    f"{CLUSTER}/spy": 2.0,
    f"{CLUSTER}/requests": math.inf,
    f"{CLUSTER}/events": math.inf,
    (STREAM := f"{CLUSTER}/stream"): math.inf,
}
VIEWS: Final = {"overview": OVERVIEW, "requests": REQUESTS}
ALONE_SECONDS: Final = 20
SETTLE_SECONDS: Final = 1.0
CONFIDENCE: Final = 0.99
MOST_LOST: Final = 0.03
# An answer that took long is asked for again when so many times as long has passed.
SHARE: Final = 10


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
    Loss("Overview open", "without --ui"),
    Loss("Requests open", "spy on"),
)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The two values between which the median of all lies with CONFIDENCE; infinite if too few."""
    ordered, count_ = sorted(values), len(values)
    left_out, beyond = 0, 0.5**count_
    while 2 * beyond <= 1 - CONFIDENCE:
        left_out += 1
        beyond += math.comb(count_, left_out) * 0.5**count_
    if not left_out:
        return -math.inf, math.inf
    return ordered[left_out - 1], ordered[count_ - left_out]


class Replay:
    """The questions of an open page, by threads; `took` has each answer's seconds and bytes."""

    def __init__(self, control: Mapping[str, str], asked: Mapping[str, float]) -> None:
        self._control = control
        self.took: dict[str, list[tuple[float, int]]] = {}
        self._ended = threading.Event()
        self._stream: socket.socket | None = None
        self._threads = [
            threading.Thread(target=self._follow)
            if path == STREAM
            else threading.Thread(target=self._repeat, args=(path, pause))
            for path, pause in asked.items()
        ]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._stream is not None:
            self._stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _repeat(self, path: str, pause: float) -> None:
        connection = HTTPConnection(urlsplit(self._control["url"]).netloc, timeout=60)
        while not self._ended.is_set():
            began = time.perf_counter()
            self._ask(connection, path)
            if path != TRAFFIC:
                took = time.perf_counter() - began
                self._ended.wait(None if pause == math.inf else max(pause, SHARE * took))
        connection.close()

    def _ask(self, connection: HTTPConnection, path: str) -> None:
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {self._control['token']}"}
        connection.request("GET", f"/v1{path}", headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status == 200, data
        self.took.setdefault(path, []).append((time.perf_counter() - began, len(data)))

    def _follow(self) -> None:
        connection = HTTPConnection(urlsplit(self._control["url"]).netloc, timeout=60)
        headers = {"Authorization": f"Bearer {self._control['token']}"}
        connection.request("GET", f"/v1{STREAM}?waiting=true&latest=true", headers=headers)
        self._stream = connection.sock
        answer = connection.getresponse()
        began = time.perf_counter()
        with suppress(OSError, HTTPException):
            while line := answer.readline():
                self.took.setdefault(STREAM, []).append((time.perf_counter() - began, len(line)))
                began = time.perf_counter()
        answer.close()


@contextmanager
def browsing(url: str, view: str) -> Iterator[None]:
    """Chromium with a view open."""
    from playwright.sync_api import sync_playwright

    from conformance.ui.conftest import chromium_path

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path())
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}&to={quote(f'/default/{view}')}")
        page.wait_for_selector("h1")
        page.wait_for_timeout(2000)
        yield
        browser.close()


class Watched:
    """A broker with --ui under load, and what is open meanwhile."""

    def __init__(self, side: Side, *, in_browser: bool) -> None:
        self._load = Produce(side, codec="none", record_bytes=KB, records=0)
        self._in_browser = in_browser
        broker = side.broker
        assert isinstance(broker, Kafkalite)
        self._ready, self._pid = broker.ready, broker.pid
        self._client = Client(self._ready["control"]["url"], self._ready["control"]["token"])
        self.took: dict[str, list[tuple[float, int]]] = {}

    def cpu_alone(self, view: str) -> float:
        """CPU seconds of the broker in each second that a view is open and nothing else happens."""
        before = cpu_seconds(self._pid)
        with Replay(self._ready["control"], VIEWS[view]):
            time.sleep(ALONE_SECONDS)
        return (cpu_seconds(self._pid) - before) / ALONE_SECONDS

    def run(self, records: int, view: str | None, *, spy: bool) -> tuple[float, float]:
        """Seconds, and CPU seconds of the broker."""
        self._client.ask("requests.clear")
        self._client.ask("spy.set", mode="on" if spy else "off")
        with ExitStack() as stack:
            if view is not None and self._in_browser:
                stack.enter_context(browsing(self._ready["ui"], view))
            elif view is not None:
                replay = Replay(self._ready["control"], VIEWS[view])
                self.took = replay.took
                stack.enter_context(replay)
                time.sleep(SETTLE_SECONDS)  # a page asks everything at once when it is opened
            return self._load.run(records)


Samples = Mapping[str, Sequence[tuple[float, float]]]


def sampled(directory: Path, records: int, rounds: int, *, in_browser: bool) -> Samples:
    """By what is open: (MB/s, CPU seconds per GB) of each round, of `rounds` at most."""
    plain = Side("plain", Kafkalite, directory / "plain")
    with_page = Side(
        "ui",
        lambda at, more: Kafkalite(at, {**(more or {}), "kafkalite.ui": "true"}),
        directory / "ui",
    )
    with ExitStack() as stack:
        for side in (plain, with_page):
            stack.callback(side.close)
        without = Produce(plain, codec="none", record_bytes=KB, records=records)
        watched = Watched(with_page, in_browser=in_browser)
        modes: dict[str, Callable[[], tuple[float, float]]] = {
            "without --ui": lambda: without.run(records),
            "no page open": lambda: watched.run(records, None, spy=False),
            "Overview open": lambda: watched.run(records, "overview", spy=False),
            "spy on": lambda: watched.run(records, None, spy=True),
            "Requests open": lambda: watched.run(records, "requests", spy=True),
        }
        watched.run(records // 5, None, spy=False)  # warm
        for view in VIEWS:
            print(f"{view} open, and no load: {watched.cpu_alone(view):.1%} of a core", flush=True)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in modes}
        gigabytes = records * KB / 1e9
        for number in range(rounds):
            for name in list(modes)[:: 1 if number % 2 else -1]:
                seconds, cpu = modes[name]()
                found[name].append((gigabytes * 1000 / seconds, cpu / gigabytes))
                if watched.took:
                    show_answers(name, watched.took)
                    watched.took = {}
            verdicts = [loss.verdict(lost(found, loss.mode, loss.beside)) for loss in LOSSES]
            if Verdict.UNDECIDED not in verdicts:
                break
    return found


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
    print(f"{min(len(samples) for samples in found.values())} rounds")
    print(f"{'':16}{'MB/s':>8}{'loss':>24}{'CPU s per GB':>14}{'more':>26}")
    beside = {loss.mode: loss.beside for loss in LOSSES}
    for name, samples in found.items():
        base = beside.get(name, "without --ui")
        more = [ours[1] / its[1] - 1 for ours, its in zip(samples, found[base], strict=True)]
        speed, cpu = (statistics.median(each[index] for each in samples) for index in (0, 1))
        losses = spread(lost(found, name, base))
        print(f"{name:16}{speed:8.0f}{losses:>24}{cpu:14.2f}{spread(more):>26}")
    worst = Verdict.HOLDS
    for loss in LOSSES:
        shares = lost(found, loss.mode, loss.beside)
        low, high = interval(shares)
        verdict = loss.verdict(shares)
        worst = max(worst, verdict, key=lambda each: each.value)
        wanted = "none" if loss.is_none else f"at most {MOST_LOST:.0%}"
        between = f"the median loss is between {low:+.1%} and {high:+.1%}"
        print(f"{loss.mode}, beside {loss.beside}: {between}, wanted {wanted}: {verdict.name}")
    return worst


def spread(shares: Sequence[float]) -> str:
    return " / ".join(
        f"{share:+.1%}" for share in (min(shares), statistics.median(shares), max(shares))
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.window")
    parser.add_argument("--megabytes", type=int, default=2000, help="the load of one run")
    parser.add_argument("--rounds", type=int, default=24, help="as many at most")
    parser.add_argument("--browser", action="store_true", help="open Chromium, replay nothing")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="window-") as directory:
        records = flags.megabytes * 1000
        found = sampled(Path(directory), records, flags.rounds, in_browser=flags.browser)
    return show(found).value


if __name__ == "__main__":
    sys.exit(main())
