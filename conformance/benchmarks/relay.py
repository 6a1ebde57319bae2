"""`python -m conformance.benchmarks.relay`: the least that produce -> consume can take on this
machine.

As latency.py measures it, with a broker that does nothing: what comes in on one socket is answered,
and goes out on the other.
"""

from __future__ import annotations

import gc
import multiprocessing
import select
import socket
import time

from conformance.benchmarks.latency import PARK_SECONDS, percentile

COUNT = 5000
ROUNDS = 3
REQUEST, FETCH, ANSWER = bytes(150), bytes(100), bytes(180)


def relay(listening: socket.socket) -> None:
    """Serve a producer, then a consumer, until either goes."""
    producer, consumer = listening.accept()[0], listening.accept()[0]
    epoll = select.epoll()
    for each in (producer, consumer):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        epoll.register(each, select.EPOLLIN)
    while True:
        for descriptor, _ in epoll.poll():
            if descriptor == producer.fileno():
                if not producer.recv(65536):
                    return
                producer.send(REQUEST)
                consumer.send(ANSWER)
            elif not consumer.recv(65536):
                return


def milliseconds(producer: socket.socket, consumer: socket.socket) -> list[float]:
    """Latencies of so many records, sent one at a time, sorted."""
    took: list[float] = []
    gc.disable()
    for _ in range(COUNT):
        consumer.sendall(FETCH)
        time.sleep(PARK_SECONDS)
        began = time.perf_counter()
        producer.sendall(REQUEST)
        consumer.recv(len(ANSWER))
        took.append((time.perf_counter() - began) * 1000)
        producer.recv(len(REQUEST))
    gc.enable()
    return sorted(took)


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        process = multiprocessing.get_context("fork").Process(target=relay, args=(listening,))
        process.start()
        address = listening.getsockname()
        connect = socket.create_connection
        with connect(address) as producer, connect(address) as consumer:
            for each in (producer, consumer):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(ROUNDS):
                took = milliseconds(producer, consumer)
                shown = (f"p{each} {percentile(took, each):.3f} ms" for each in (50, 99, 99.9))
                print(*shown, flush=True)
        process.join()


if __name__ == "__main__":
    main()
