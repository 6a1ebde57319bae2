"""`python -m conformance.security.half_handshakes --count 10000`: logins that never end.

Waves of them come, until memory grows no more. Some stop within their handshake with TLS, some
send it bit by bit, some say nothing, some say something else, and some stop within SASL. Beside
them clients work on every listener. Fails if one of these is refused or waits longer than
`--patience` seconds, if one of the others stays, or if memory or descriptors do not come back.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import socket
import ssl
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.security.conversations import handshake, plain, token
from conformance.security.pair import PROTOCOLS, SECURITY, Client, SecuredKafkalite
from kafkalite.wire.messages.metadata import MetadataRequest

# A ClientHello of which most is missing.
_HALF: Final = bytes.fromhex("16030100c8010000")
_KINDS: Final = (
    ("SSL", _HALF),
    ("SASL_SSL", _HALF),
    ("SSL", b""),
    ("SSL", b"GET / HTTP/1.1\r\n\r\n"),
    ("SASL_PLAINTEXT", handshake()),
    ("SASL_PLAINTEXT", handshake()[:9]),
    ("SASL_SSL", handshake()),
)
# One in so many goes on with a few bytes now and then.
_SLOW: Final = 10
_MOST_KB: Final = 20_000
_MOST_KB_EACH: Final = 2.0
_DESCRIPTORS_LEFT: Final = 20
_MOST_WAVES: Final = 8


@dataclass
class Worker:
    """A client that logs in, asks and leaves, again and again."""

    broker: SecuredKafkalite
    protocol: str
    longest: float = 0.0
    count: int = 0
    failed: list[str] = field(default_factory=list)

    def run(self, over: threading.Event) -> None:
        while not over.is_set():
            began = time.monotonic()
            try:
                self.work()
            except (OSError, AssertionError) as error:
                self.failed.append(f"{self.protocol}: {error!r}")
                return
            self.longest = max(self.longest, time.monotonic() - began)
            self.count += 1
            over.wait(0.05)

    def work(self) -> None:
        with socket.create_connection(self.broker.address(self.protocol), 60) as connection:
            if self.protocol.endswith("SSL"):
                context = ssl.create_default_context(
                    cafile=str(self.broker.directory / "authority.pem")
                )
                connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
            client = Client.over(connection)
            if self.protocol.startswith("SASL"):
                assert client.exchange(handshake()) is not None
                assert client.exchange(token(plain("root", "r"))) is not None
            answer = client.ask(MetadataRequest(topics=[]))
            assert answer is not None, "the broker closed"
            connection.close()


def run(directory: Path, count: int, patience: float) -> list[str]:
    """The faults found, a sentence each."""
    idle_ms = 1000 * _idle_seconds(count)
    broker = SecuredKafkalite(directory, SECURITY | {"connections.max.idle.ms": str(idle_ms)})
    over = threading.Event()
    workers = [Worker(broker, name) for name in PROTOCOLS]
    threads = [threading.Thread(target=worker.run, args=(over,)) for worker in workers]
    try:
        for worker in workers:
            worker.work()
        descriptors = _descriptors(broker)
        for thread in threads:
            thread.start()
        # A wave fills the pools of the allocator, which the next finds. A leak grows with each.
        stayed, waves, grown = _attack(broker, count, patience), 1, 0.0
        while waves == 1 or (_is_leak(grown, count) and waves < _MOST_WAVES):
            memory = _memory_kb(broker)
            stayed += _attack(broker, count, patience)
            waves += 1
            grown = _memory_kb(broker) - memory
            print(
                f"memory: {grown / 1000:.1f} MB more by wave {waves}, {grown / count:.2f} KB each"
            )
        over.set()
        for thread in threads:
            thread.join()
        found = [reason for worker in workers for reason in worker.failed]
        for worker in workers:
            print(f"{worker.protocol}: {worker.count} logins, the longest {worker.longest:.2f} s")
            if worker.longest > patience:
                found.append(f"{worker.protocol}: a login took {worker.longest:.1f} s")
            if not worker.count:
                found.append(f"{worker.protocol}: no login")
        if stayed:
            found.append(f"{stayed} of {waves * count} were not closed")
        if _is_leak(grown, count):
            found.append(f"{grown / 1000:.1f} MB of memory did not come back")
        return [*found, *_left(broker, descriptors, patience)]
    finally:
        over.set()
        broker.stop()


def _attack(broker: SecuredKafkalite, count: int, patience: float) -> int:
    """Open all, keep some slow, and wait until the broker has closed them; those that stayed."""
    opened: list[socket.socket] = []
    for number in range(count):
        protocol, said = _KINDS[number % len(_KINDS)]
        made = socket.create_connection(broker.address(protocol), 60)
        made.sendall(said)
        made.setblocking(False)
        opened.append(made)
    print(f"{_descriptors(broker)} descriptors are open in the broker")
    deadline = time.monotonic() + _idle_seconds(count) + patience
    waiting, slow = opened, opened[::_SLOW]
    while waiting and time.monotonic() < deadline:
        waiting = [made for made in waiting if not _has_ended(made)]
        for made in slow:
            with contextlib.suppress(OSError):
                made.send(bytes(10))
        time.sleep(0.1)
    for made in waiting:
        made.close()
    return len(waiting)


def _has_ended(made: socket.socket) -> bool:
    """True if the broker has closed a connection; then it is closed here, too."""
    try:
        while made.recv(1000):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    made.close()
    return True


def _idle_seconds(count: int) -> int:
    """Half a login is an idle connection, as in Kafka. None ends before all are open."""
    return 3 + count // 200


def _is_leak(grown_kb: float, count: int) -> bool:
    return grown_kb > _MOST_KB + _MOST_KB_EACH * count


def _left(broker: SecuredKafkalite, descriptors: int, patience: float) -> list[str]:
    deadline = time.monotonic() + patience
    while _descriptors(broker) > descriptors + _DESCRIPTORS_LEFT:
        if time.monotonic() > deadline:
            return [f"{_descriptors(broker)} descriptors are open, and were {descriptors}"]
        time.sleep(0.1)
    return []


def _memory_kb(broker: SecuredKafkalite) -> float:
    pages = int(Path(f"/proc/{broker.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1000


def _descriptors(broker: SecuredKafkalite) -> int:
    return len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.security.half_handshakes", description=__doc__
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--patience", type=float, default=120.0, help="in seconds")
    flags = parser.parse_args()
    # For us and for the broker that we start.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="half-handshakes-") as directory:
        wrong = run(Path(directory), flags.count, flags.patience)
    print("\n".join(wrong) or "nobody else noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
