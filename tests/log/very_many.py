"""Batches of very many records, which cost a client little and a careless broker everything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from time import sleep

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


def record_with_headers(count: int) -> bytes:
    """A record whose headers have empty keys and null values."""
    body = bytes(3) + b"\1\1" + varint(count) + b"\0\1" * count
    return varint(len(body)) + body


def turns_beside(work: Callable[[], object]) -> int:
    """The number of times that this thread gets the interpreter while another one works."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread = Thread(target=work)
        turns = 0
        thread.start()
        while thread.is_alive():
            turns += 1
            sleep(0)
        return turns
    finally:
        sys.setswitchinterval(interval)
