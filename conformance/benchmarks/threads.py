"""The price of giving a system call to another thread: `python -m conformance.benchmarks.threads`.

The broker's loop calls `recv` and `sendfile` itself. Here both are called by the thread that needs
them, and by another one, which is woken for the call and wakes the first when it is done. A row has
the processor time of both threads in microseconds, the least of some rounds.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

ROUNDS = 5
CALLS = 300
BUFFER_BYTES = 4_000_000

Call = Callable[[], int]
Way = Callable[[Call], int]


def in_loop(call: Call) -> int:
    return call()


def other_thread() -> Way:
    """A way through a thread of its own, which lives as long as the process."""
    asked: SimpleQueue[Call] = SimpleQueue()
    answered: SimpleQueue[int] = SimpleQueue()

    def work() -> None:
        while True:
            answered.put(asked.get()())

    def ask(call: Call) -> int:
        asked.put(call)
        return answered.get()

    threading.Thread(target=work, daemon=True).start()
    return ask


def connected() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection whose buffers hold a whole call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    for end in (near, far):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    return near, far


def sent(size: int, way: Way) -> float:
    near, far = connected()
    spent = 0.0
    with near, far, tempfile.TemporaryFile() as file:
        file.write(bytes(size))
        file.flush()
        for _ in range(CALLS):
            began = time.process_time()
            count = way(lambda: os.sendfile(near.fileno(), file.fileno(), 0, size))
            spent += time.process_time() - began
            while count:
                count -= len(far.recv(count))
    return spent / CALLS * 1e6


def received(size: int, way: Way) -> float:
    near, far = connected()
    buffer, data = bytearray(size), bytes(size)
    spent = 0.0
    with near, far:
        for _ in range(CALLS):
            far.sendall(data)
            while len(near.recv(size, socket.MSG_PEEK)) < size:
                pass
            began = time.process_time()
            way(lambda: near.recv_into(buffer))
            spent += time.process_time() - began
    return spent / CALLS * 1e6


def main() -> None:
    ways = {"in the loop": in_loop, "other thread": other_thread()}
    rows = [("recv", received, size) for size in (100, 10_000, 100_000)]
    rows += [("sendfile", sent, size) for size in (1_000, 10_000, 100_000)]
    for name, measure, size in rows:
        least = {each: min(measure(size, way) for _ in range(ROUNDS)) for each, way in ways.items()}
        print(f"{name} of {size:,} bytes:", *(f"{each} {us:.1f}" for each, us in least.items()))


if __name__ == "__main__":
    main()
