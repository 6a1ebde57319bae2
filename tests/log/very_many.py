"""Batches of very many records, which cost a client little and a careless broker everything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from time import perf_counter, sleep

from kafkalite.log import record_walk

# Several parts of a walk. Machine code takes a hundredth of the time.
MANY = 200_000 if str(record_walk.__file__).endswith(".py") else 1_000_000

# Length, attributes, timestamp delta, offset delta, no key, no value, no headers.
FIRST_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])


def varint(value: int) -> bytes:
    """A zigzag varint of a number that is not negative."""
    value *= 2
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes((*data, value))


def tiny_records(count: int) -> bytes:
    """Records without key, value and headers, numbered from 0 on."""
    deltas = map(varint, range(count))
    return b"".join(bytes((2 * (5 + len(delta)), 0, 0)) + delta + b"\1\1\0" for delta in deltas)


def record_with_headers(count: int, offset_delta: int = 0) -> bytes:
    """A record whose headers have empty keys and null values."""
    body = bytes(2) + varint(offset_delta) + b"\1\1" + varint(count) + b"\0\1" * count
    return varint(len(body)) + body


def longest_wait(work: Callable[[], object]) -> float:
    """The longest time that this thread waits for the interpreter while another one works.

    As a share of the whole, and the least of three, for a busy machine: of work that lets nobody
    run it is nearly 1.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        return min(_longest_wait(work) for _ in range(3))
    finally:
        sys.setswitchinterval(interval)


def _longest_wait(work: Callable[[], object]) -> float:
    thread = Thread(target=work)
    longest = 0.0
    began = before = perf_counter()
    thread.start()
    while thread.is_alive():
        sleep(0)
        now = perf_counter()
        longest, before = max(longest, now - before), now
    return longest / (before - began)
