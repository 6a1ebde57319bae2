"""Many huge requests at once: the broker's memory is bounded, and nobody waits but they.

`KAFKALITE_HUGE=50x625000 pytest tests/kafkalite/server/test_many_huge_requests.py -s` asks by 50
connections for 625,000 names each, frames of 5 MB, and prints what it measured.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kafkalite.server.test_huge_requests import MOST_SECONDS, framed, metadata
from tests.kafkalite.until import PATIENCE_SECONDS

CLIENTS, NAMES = map(int, os.environ.get("KAFKALITE_HUGE", "40x50000").split("x"))
# It is 160 MB, and was 620 MB without the bound.
MOST_BYTES = 300_000_000
SMALL = framed(struct.pack(">hhih", 18, 0, 7, -1))  # ApiVersions


@contextmanager
def watched_broker(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], tuple[str, int]]]:
    """A broker whose watchdog writes into `findings`, and its address."""
    ready = directory / "ready.json"
    command = [sys.executable, "-m", "conformance.soak.watched", str(directory / "findings")]
    flags = ["--port", "0", "--data-dir", str(directory / "data"), "--ready-file", str(ready)]
    with subprocess.Popen([*command, *flags], stdout=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while not ready.exists():
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            host, _, port = json.loads(ready.read_text())["bootstrap"].rpartition(":")
            yield process, (host, int(port))
        finally:
            process.kill()


def ask(address: tuple[str, int], frame: bytes, begin: threading.Barrier) -> int:
    """The size of the answer."""
    with socket.create_connection(address) as client:
        begin.wait()
        client.sendall(frame)
        (size,) = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))
        left: int = size
        while left:
            received = len(client.recv(min(left, 1 << 20)))
            assert received
            left -= received
    return int(size)


def ask_small(address: tuple[str, int], is_over: threading.Event) -> list[float]:
    """The times that small requests take, in seconds, one after the other until it is over."""
    times = []
    with socket.create_connection(address) as client:
        while not is_over.wait(0.01):
            began = time.perf_counter()
            client.sendall(SMALL)
            (size,) = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))
            client.recv(size, socket.MSG_WAITALL)
            times.append(time.perf_counter() - began)
    return times


def most_resident(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


@pytest.mark.slow
def test_many_huge_requests_at_once(tmp_path: Path) -> None:
    is_over = threading.Event()
    begin = threading.Barrier(CLIENTS)
    frame = framed(metadata(NAMES))
    with (
        watched_broker(tmp_path) as (process, address),
        ThreadPoolExecutor(CLIENTS + 1) as threads,
    ):
        small = threads.submit(ask_small, address, is_over)
        asked = [threads.submit(ask, address, frame, begin) for _ in range(CLIENTS)]
        sizes = {each.result() for each in asked}
        is_over.set()
        times = sorted(small.result())
        peak = most_resident(process)
    findings = [json.loads(line) for line in (tmp_path / "findings").read_text().splitlines()]
    held = max((each["held_ms"] for each in findings), default=0.0)
    print(
        f"\n{CLIENTS} frames of {len(frame):,} bytes: {peak:,} bytes resident at most; "
        f"the loop was held for {held:.0f} ms at most; of {len(times)} small requests half took "
        f"{times[len(times) // 2] * 1000:.1f} ms, the slowest {times[-1] * 1000:.0f} ms"
    )
    assert min(sizes) > 10 * NAMES
    assert len(sizes) == 1, "all are answered, and alike"
    assert held < MOST_SECONDS * 1000
    assert peak < MOST_BYTES or "KAFKALITE_HUGE" in os.environ
