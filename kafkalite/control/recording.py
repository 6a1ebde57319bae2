"""A recording: the data at its beginning, and each frame since then in the order of its passing.

A ZIP file:

meta.json    versions, the configs that were given, the number of nodes
data.tar     a data directory in Apache Kafka's layout
tape.bin     frames: a letter (q: a request came, a: it was answered, c: it was not, and never will
             be), the number of the request, its connection, its node, the cluster's time in ms and
             the size of the frame (int8, int32, int32, int32, int64, int32, all big endian), then
             its bytes
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from kafkalite.control.problems import Problem
from kafkalite.control.spy.frames import answer_without_secrets, request_without_secrets
from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.control.spy.trace import zipped
from kafkalite.requests.slices import Steps

MOST_BYTES: Final = 512 << 20
_HEAD: Final = struct.Struct(">biiiqi")
ASKED: Final = ord("q")
ANSWERED: Final = ord("a")
CLOSED: Final = ord("c")


class Passed(NamedTuple):
    """A frame that passed. An answer bears its length in its first four bytes."""

    kind: int
    number: int
    connection: int
    node: int
    cluster_ms: int
    frame: bytes


class Tape(Ring):
    """A ring that forgets nothing, and knows what came when. `now_ms` is the cluster's clock."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(MOST_BYTES)
        self._now_ms = now_ms
        # Frames in their order: the kind, the number of the request, the cluster's time.
        self.order: list[tuple[int, int, int]] = []
        # Called after each of them.
        self.grown: Callable[[], None] = _nothing

    def add(
        self, client: tuple[str, int], frame: bytes, request_bytes: int, received_ns: int = 0
    ) -> Entry:
        """Keep a request that has come."""
        entry = super().add(client, frame, request_bytes, received_ns)
        self.order.append((ASKED, entry.seq, self._now_ms()))
        self.grown()
        return entry

    def ended(self, entry: Entry, outcome: Any, answer: tuple[bytes | int, ...] = ()) -> None:
        """Keep what became of a request."""
        super().ended(entry, outcome, answer)
        if outcome != "none":
            kind = ANSWERED if answer else CLOSED
            self.order.append((kind, entry.seq, self._now_ms()))
        self.grown()

    def passing(self) -> Steps[list[Passed]]:
        """All that has passed. Raises Problem if it was too much to keep."""
        connections: dict[tuple[str, int], int] = {}
        passed: list[Passed] = []
        for kind, number, cluster_ms in list(self.order):
            entry = self.get(number)
            if entry is None:
                most = MOST_BYTES >> 20
                raise Problem("too_large", f"a recording may have {most} MiB, and this has more")
            connection = connections.setdefault(entry.client, len(connections) + 1)
            frame = _frame(entry, kind)
            passed.append(Passed(kind, number, connection, entry.node, cluster_ms, frame))
            yield
        return passed


def _nothing() -> None:
    """The tape of a recording is looked at in the end."""


def _frame(entry: Entry, kind: int) -> bytes:
    """The bytes of it for a file, without passwords, keys and tokens."""
    if kind == ASKED:
        return request_without_secrets(entry)
    return answer_without_secrets(entry) if kind == ANSWERED else b""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording, read from its file."""

    configs: dict[str, str]
    nodes: int
    data: bytes
    tape: list[Passed]


def written(meta: dict[str, Any], data: bytes, tape: Iterable[Passed]) -> bytes:
    """The ZIP file of a recording."""
    heads = ((_HEAD.pack(*each[:5], len(each.frame)), each.frame) for each in tape)
    return zipped(
        {
            "meta.json": [msgspec.json.encode(meta)],
            "data.tar": [data],
            "tape.bin": chain.from_iterable(heads),
        }
    )


def read(file: bytes) -> Recording:
    """The recording in a ZIP file. Raises Problem for another file."""
    try:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            meta = msgspec.json.decode(archive.read("meta.json"))
            data, tape = archive.read("data.tar"), archive.read("tape.bin")
        return Recording(meta["configs"], meta["nodes"], data, list(_frames(tape)))
    except (zipfile.BadZipFile, KeyError, struct.error, msgspec.DecodeError) as error:
        raise Problem("invalid_request", f"this is no recording: {error!r}") from None


def _frames(tape: bytes) -> Iterator[Passed]:
    position = 0
    while position < len(tape):
        kind, number, connection, node, at_ms, size = _HEAD.unpack_from(tape, position)
        position += _HEAD.size
        frame = tape[position : position + size]
        yield Passed(kind, number, connection, node, at_ms, frame)
        position += size
