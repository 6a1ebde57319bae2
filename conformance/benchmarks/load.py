"""Drives load.c, the generator of many requests that look alike, and reads what it measured."""

import array
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.benchmarks.compiled import LoadFailed, compiled
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request


@dataclass(frozen=True)
class Load:
    """The result of one run of the generator. Latencies are sorted, in microseconds."""

    answer_count: int
    seconds: float
    latencies_us: Sequence[int]
    first_answer: bytes

    @property
    def per_second(self) -> float:
        return self.answer_count / self.seconds

    def latency_ms(self, percentile: float) -> float:
        """The latency that `percentile` of 100 answers kept."""
        last = len(self.latencies_us) - 1
        return self.latencies_us[round(last * percentile / 100)] / 1000


def run(
    bootstrap: str,
    frame: bytes,
    *,
    connections: int = 1,
    in_flight: int = 1,
    seconds: float = 2.0,
    per_answer: int = 1,
    each: int = 0,
) -> Load:
    """Send `frame`, or several frames in turn, as often as they are answered; raises LoadFailed.

    `per_answer` frames are sent together, and the last has an answer. `each` is the number of
    frames that belong to each connection, which sends them once; 0: all share them.
    """
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    numbers = (connections, in_flight, seconds, per_answer, each)
    done = subprocess.run(
        [compiled("load"), host, port, *map(str, numbers)],
        input=frame,
        capture_output=True,
        check=False,
    )
    words = done.stderr.decode().split()
    if done.returncode != 0 or len(words) != 3:
        raise LoadFailed(done.stderr.decode().strip())
    latencies = array.array("I", done.stdout)
    return Load(int(words[0]), float(words[1]), sorted(latencies), bytes.fromhex(words[2]))


def request(api_key: ApiKey, version: int, body: Any) -> bytes:
    """A whole frame."""
    return b"".join(bytes(chunk) for chunk in encode_request(api_key, version, 1, "load", body))


def answer(api_key: ApiKey, version: int, load: Load) -> Any:
    """The first answer's body, to see that it was no error."""
    return body_in(api_key, version, load.first_answer)


def body_in(api_key: ApiKey, version: int, first_answer: bytes) -> Any:
    """The body of an answer with its length prefix."""
    size = int.from_bytes(first_answer[:4])
    return decode_response(api_key, version, first_answer[4 : 4 + size])[1]
