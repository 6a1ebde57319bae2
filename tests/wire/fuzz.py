"""Broken frames: what must never happen does not. `python -m tests.wire.fuzz SECONDS [SEED]` for
long runs.

Of every request and response in every version a valid frame is made, then broken in some way.
Whatever comes of it:
- either it is decoded, or the declared errors are raised, and nothing else;
- the generated parser and the declaration agree, in the value as in the error;
- what was decoded can be encoded, and from then on nothing changes (what was read may be less
  regular than what is written: malformed text, unknown tags twice or out of order);
- it takes at most 50 ms, and memory in proportion to the frame: four times its size, and a little
  that any frame takes. A count that the bytes left cannot hold is refused before anything is made.
  A valid frame of very many small elements takes more: test_memory.py has its bound.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any, Final

from conformance.harness.messages import every_version
from conformance.harness.random_messages import broken, random_message
from conformance.soak.stolen_time import StolenTime
from kafkalite.wire.codec import (
    Request,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import BYTES_OF_ELEMENT
from kafkalite.wire.message_codec import join, parse_body
from kafkalite.wire.reference import parse_declared
from kafkalite.wire.schema import Kind, message_of

MOST_SECONDS: Final = 0.05
MOST_BYTES_PER_BYTE: Final = 4
MOST_BYTES_PER_ELEMENT: Final = BYTES_OF_ELEMENT
BYTES_ANYWAY: Final = 48 * 1024

Case = tuple[type[Any], int]


def cases() -> list[Case]:
    kinds = (Kind.REQUEST, Kind.RESPONSE)
    return [case for case in every_version() if message_of(case[0]).kind in kinds]


def frame_of(random: Random, case: Case) -> bytes:
    class_, version = case
    body = random_message(random, class_, version)
    message = message_of(class_)
    if message.kind is Kind.REQUEST:
        return join(encode_request(message.key, version, 7, "fuzz", body))[4:]
    return join(encode_response(message.key, version, 7, body))[4:]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call, or the text of its ProtocolViolation; other errors go through."""
    try:
        return function(*arguments)
    except ProtocolViolation as error:
        return str(error)


def check(case: Case, frame: bytes) -> bool:
    """True if the frame was valid after all."""
    class_, version = case
    message = message_of(class_)
    parsed = outcome(lambda: parse_body(class_, version, frame))
    assert parsed == outcome(lambda: parse_declared(class_, version, frame)[0])
    if message.kind is Kind.RESPONSE:
        decoded = outcome(decode_response, message.key, version, frame)
        if isinstance(decoded, str):
            return False
        again = join(encode_response(message.key, version, *decoded))
        decoded = decode_response(message.key, version, again[4:])
        assert join(encode_response(message.key, version, *decoded)) == again
        return True
    decoded = outcome(decode_request, frame)
    assert outcome(decode_request, memoryview(frame)) == decoded
    if isinstance(decoded, str):
        return False
    again = encoded(decoded)
    assert encoded(decode_request(again[4:])) == again
    return True


def encoded(request: Request) -> bytes:
    head = (request.api_key, request.api_version, request.correlation_id, request.client_id)
    return join(encode_request(*head, request.body))


def measure(case: Case, frame: bytes) -> tuple[float, int]:
    """Seconds of processor time, and bytes at the most, that decoding took."""
    message = message_of(case[0])
    arguments = (frame,) if message.kind is Kind.REQUEST else (message.key, case[1], frame)
    decode: Callable[..., Any] = decode_request if message.kind is Kind.REQUEST else decode_response
    # A collection that falls into the measured time looks at what decoding made, not at all that
    # the tests of this process have left behind: that alone takes up to 0.3 s.
    gc.freeze()
    stolen = StolenTime()
    started = time.thread_time()
    outcome(decode, *arguments)
    took = time.thread_time() - started
    gc.unfreeze()
    tracemalloc.start()
    outcome(decode, *arguments)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return stolen.own_seconds(took, MOST_SECONDS), peak


def one_round(random: Random, found: list[Case], *, measure_each: int = 0) -> tuple[int, int]:
    """Every message once; how many of the broken frames were valid, and how many there were.

    Decoding is measured of each so many messages, once the parsers have been made: by a first
    round.
    """
    valid = count = 0
    other = b""
    for number, case in enumerate(found):
        frame = frame_of(random, case)
        assert check(case, frame), "a frame of ours is not valid"
        for _ in range(3):
            damaged = broken(random, frame, other)
            try:
                valid += check(case, damaged)
                count += 1
                if measure_each and number % measure_each == 0:
                    seconds, peak = measure(case, damaged)
                    assert seconds <= MOST_SECONDS, f"{seconds} seconds"
                    assert peak <= MOST_BYTES_PER_BYTE * len(damaged) + BYTES_ANYWAY, (
                        f"{peak} bytes"
                    )
            except BaseException:
                print(f"{case[0].__name__} {case[1]}: {damaged.hex()}", file=sys.stderr)
                raise
        other = frame
    return valid, count


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns()
    random, found = Random(seed), cases()
    one_round(random, found)
    until = time.monotonic() + seconds
    valid = count = 0
    print(f"seed {seed}")
    while time.monotonic() < until:
        more_valid, more = one_round(random, found, measure_each=5)
        valid, count = valid + more_valid, count + more
        print(f"\r{count} broken frames, {valid} of them still valid", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
