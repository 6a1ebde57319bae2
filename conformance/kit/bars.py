"""The figures of the testing kit, each with the bar that it is held to."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.request import Request, urlopen

from conformance.harness.process import start_process
from kafkalite.client.connecting import Client
from kafkalite.faults import drop
from kafkalite.testing import broker
from kafkalite.wire.codec import encode_request
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.record_batch import Record, build_batch

MANY_TOPICS = 5000
NOTHING = "nothing"


@dataclass(frozen=True)
class Bar:
    """A figure, and the most it may be."""

    name: str
    value: float
    most: float
    unit: str

    def __str__(self) -> str:
        held = "" if self.value <= self.most else "   above the bar"
        return f"{self.name:58} {self.value:9.2f} {self.unit:4} (bar {self.most:g}){held}"


def milliseconds(function: Callable[[], object], times: int = 15) -> float:
    """The median time of a call."""
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


def resident_mb(pid: int | None = None) -> float:
    """The memory of a process that is in RAM, in MB."""
    pages = int(Path(f"/proc/{pid or os.getpid()}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Longest(logging.Handler):
    """Hears the broker's watchdog, which says what holds the loop for more than 20 ms."""

    held_ms = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        self.held_ms = max(self.held_ms, vars(record)["held_seconds"] * 1000)


@dataclass(frozen=True)
class Resets:
    """The time of a reset, and the longest for which anything held the loop in it and after.

    `first_ms` is that of the first one, before which nothing had been asked by a verb.
    """

    first_ms: float
    took_ms: float
    held_ms: float


def resets(topics: int, size_bytes: int = 0, rounds: int = 5, **settings: Any) -> Resets:
    """Reset a cluster that has so many topics, or so many bytes."""
    took: list[float] = []
    held: list[float] = []
    with broker(profile="test", **settings) as k:
        watchdog = logging.getLogger("kafkalite.server.watchdog")
        longest = Longest()
        watchdog.addHandler(longest)
        watchdog.setLevel(logging.DEBUG)
        for _ in range(rounds):
            for number in range(topics):
                k.create_topic(f"t-{number}")
            fill(k.data_dir, size_bytes)
            time.sleep(0.2)  # a spare is opened
            longest.held_ms = 0.0
            took.append(k.reset().took_ms)
            time.sleep(0.5 + topics / 2000)  # what was there is forgotten
            held.append(longest.held_ms)
        watchdog.removeHandler(longest)
    return Resets(took[0], median(took[1:]), median(held))


def fill(directory: Path, size_bytes: int) -> None:
    """A file of that size in a data directory. It has no blocks: a reset looks at no byte."""
    if size_bytes:
        with (directory / "large").open("wb") as file:
            file.truncate(size_bytes)


@contextmanager
def process(*flags: str) -> Generator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """The command, and its ready file."""
    with tempfile.TemporaryDirectory() as directory:
        ready = Path(directory) / "ready.json"
        command = [sys.executable, "-m", "kafkalite", "--port", "0", "--temporary", *flags]
        started = start_process([*command, "--ready-file", str(ready), "--log-level", "error"])
        while not ready.exists():
            time.sleep(0.02)
        try:
            yield started, json.loads(ready.read_text())
        finally:
            started.terminate()
            started.wait()


def control_port() -> tuple[float, float]:
    """The memory that a control port takes more: at the start, and after it was asked."""
    with process() as (without, _):
        plain = resident_mb(without.pid)
    with process("--control-port", "0") as (with_port, ready):
        closed = resident_mb(with_port.pid)
        control = ready["control"]
        headers = {"Authorization": f"Bearer {control['token']}"}
        for path in ("/v1/openapi.json", "/v1/clusters"):
            urlopen(Request(control["url"] + path, headers=headers), timeout=30).read()
        return closed - plain, resident_mb(with_port.pid) - plain


def produce_frame() -> bytes:
    """A Produce of one small record."""
    batch = build_batch([Record(timestamp=int(time.time() * 1000), value=b"v")])
    partition = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name="t", partition_data=[partition])
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    return b"".join(bytes(each) for each in encode_request(0, 9, 1, "tiny", request))


def cpu_us(pid: int, bootstrap: str, count: int) -> float:
    """The CPU time of a broker for each of so many tiny requests of one connection."""
    frame = produce_frame()
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:

        def send(times: int) -> None:
            connection.sendall(frame * times)
            left = times * size
            while left:
                left -= len(connection.recv(min(left, 1 << 16)))

        connection.sendall(frame)
        size = len(connection.recv(1 << 16))
        send(100)
        before = cpu_seconds(pid)
        for _ in range(count // 100):
            send(100)
        return (cpu_seconds(pid) - before) * 1e6 / count


def cpu_seconds(pid: int) -> float:
    """The CPU time that the loop of a process has taken so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def in_the_way(count: int = 20_000, rounds: int = 5) -> dict[str, float]:
    """The CPU time of a tiny Produce in us with nothing in its way, and with what may be; rounds
    alternate.
    """
    with process("--control-port", "0", "--profile", "test") as (started, ready):
        control = ready["control"]
        k = Client(control["url"], control["token"])
        k.create_topic("t")
        things: dict[str, Callable[[], object]] = {
            NOTHING: lambda: None,
            "a fault for EndTxn": lambda: k.fault("EndTxn", do=drop.after),
            "a fault for another topic": lambda: k.fault("Produce", topic="o", do=drop.after),
            "the spy": lambda: k.ask("spy.set", mode="on"),
        }
        took: dict[str, list[float]] = {name: [] for name in things}
        for _ in range(rounds):
            for name, begin in things.items():
                begin()
                took[name].append(cpu_us(started.pid, ready["bootstrap"], count))
                k.faults.clear()
                k.ask("spy.set", mode="off")
        return {name: min(seen) for name, seen in took.items()}


def reset_bars() -> Iterator[Bar]:
    few = resets(1, rounds=15)
    yield Bar("reset, 1 topic", few.took_ms, 5, "ms")
    # No broker is ready for it: it takes as long as a new cluster.
    yield Bar("reset, the first thing a cluster is asked", few.first_ms, 15, "ms")
    yield Bar("reset, 10 GB", resets(1, 10 * 10**9).took_ms, 5, "ms")
    name = f"reset, {MANY_TOPICS} topics"
    many = resets(MANY_TOPICS)
    yield Bar(name, many.took_ms, 5, "ms")
    # The watchdog says nothing (0) of what is shorter.
    yield Bar(f"{name}, the loop is held", many.held_ms, 20, "ms")
    with_metrics = resets(MANY_TOPICS, config={"kafkalite.metrics.port": 0})
    yield Bar(f"{name}, with metrics", with_metrics.took_ms, 20, "ms")
    with tempfile.TemporaryDirectory() as directory:
        kept = resets(MANY_TOPICS, data_dir=Path(directory) / "data")
    yield Bar(f"{name}, a directory that is kept", kept.took_ms, 40, "ms")
    yield Bar(f"{name}, the same, the loop is held", kept.held_ms, 20, "ms")


def cluster_bars() -> Iterator[Bar]:
    with broker(profile="test") as k:
        yield Bar("new cluster", milliseconds(lambda: k.ask("clusters.create")), 15, "ms")
        before = resident_mb()
        for _ in range(50):
            k.ask("clusters.create")
        yield Bar("idle cluster", (resident_mb() - before) / 50, 0.2, "MB")


@contextmanager
def with_records() -> Generator[broker]:
    """A broker whose topic has 1,000 records in 10 partitions."""
    with broker(profile="test") as k:
        k.create_topic("t", partitions=10)
        k.produce("t", "v", count=1000)
        yield k


def snapshot_bars() -> Iterator[Bar]:
    with with_records() as k:
        yield Bar("snapshot, 10 partitions", milliseconds(lambda: k.snapshot("s")), 100, "ms")


def advance_bars() -> Iterator[Bar]:
    with with_records() as k:
        yield Bar("advance by 46 s", milliseconds(lambda: k.clock.advance("46s")), 50, "ms")


def wait_bars() -> Iterator[Bar]:
    with with_records() as k:
        yield Bar("wait for what holds", milliseconds(lambda: k.wait.records("t")), 20, "ms")


def port_bars() -> Iterator[Bar]:
    at_start, opened = control_port()
    yield Bar("control port, not asked", at_start, 2, "MB")
    yield Bar("control port, asked", opened, 20, "MB")


def spy_bars() -> Iterator[Bar]:
    took = in_the_way()
    nothing = took.pop(NOTHING)
    for name, with_it in took.items():
        most = 1 if name == "a fault for EndTxn" else 25
        of = f"{name}, of a tiny Produce of {nothing:.1f} us"
        yield Bar(of, 100 * (with_it / nothing - 1), most, "%")


BARS: Final[dict[str, Callable[[], Iterator[Bar]]]] = {
    "reset": reset_bars,
    "cluster": cluster_bars,
    "snapshot": snapshot_bars,
    "advance": advance_bars,
    "wait": wait_bars,
    "port": port_bars,
    "spy": spy_bars,
}
