"""Frames as they came and were answered, as many as there is room for.

Nothing is decoded here. Entries are in the order in which the requests came; the oldest go first.
A request that was answered at once, as nearly all are, is kept as a tuple. It becomes an Entry
when somebody looks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from time import time_ns
from typing import TYPE_CHECKING, Final

from kafkalite.control.sightings import Outcome

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.requests.slices import Steps
    from kafkalite.server.listener import Listener

DEFAULT_BYTES: Final = 32 << 20
# An entry takes this much beside its frames.
_ENTRY_BYTES: Final = 400
# An answer is kept as it is sent, behind its length.
LENGTH_BYTES: Final = 4

# So many are looked at for a request that came just before.
_LOOKED_AT: Final = 256

# A request that was answered at once, with one chunk of bytes: when it came and was answered in
# ns, the client's host and port, its software, the listener, the frame as far as it is kept, its
# size, the answer.
Quick = tuple[int, int, str, int, tuple[str, str], "Listener", bytes, int, bytes]


class Entry:
    """One request. `answer` has the chunks in memory, and sizes in the place of those in files.

    `context` is there while the request is not answered. `topics` and `errors` are found out when
    somebody looks.
    """

    __slots__ = (
        "answer",
        "answer_bytes",
        "answered_ns",
        "client",
        "context",
        "errors",
        "fault",
        "frame",
        "is_kept",
        "is_silent",
        "listener",
        "outcome",
        "parked_ns",
        "received_ns",
        "request_bytes",
        "seq",
        "size",
        "software",
        "topics",
        "why",
    )

    def __init__(
        self, seq: int, client: tuple[str, int], frame: bytes, request_bytes: int, received_ns: int
    ) -> None:
        self.seq = seq
        self.client = client
        self.software: tuple[str, str] = ("", "")
        self.listener: Listener | None = None
        self.frame = frame
        self.request_bytes = request_bytes
        self.received_ns = received_ns
        self.answered_ns = 0
        self.parked_ns = 0
        self.answer: tuple[bytes | int, ...] = ()
        self.answer_bytes = 0
        self.outcome: Outcome = "waiting"
        self.fault = ""
        self.why = ""
        self.context: RequestContext | None = None
        self.size = _ENTRY_BYTES + len(frame)
        self.is_kept = True
        self.is_silent = False
        self.topics: list[str] | None = None
        self.errors: list[str] = []

    @property
    def node(self) -> int:
        """The node that it came to."""
        return 0 if self.listener is None else self.listener.node_id

    @property
    def is_truncated(self) -> bool:
        """Tells whether not all of the request is kept."""
        return len(self.frame) < self.request_bytes


def _entry_of(seq: int, quick: Quick) -> Entry:
    received_ns, answered_ns, host, port, software, listener, frame, request_bytes, answer = quick
    entry = Entry(seq, (host, port), frame, request_bytes, received_ns)
    entry.software, entry.listener = software, listener
    entry.answered_ns = answered_ns
    entry.answer, entry.answer_bytes = (answer,), len(answer)
    entry.outcome = "answered"
    entry.size += len(answer)
    return entry


def _received_ns(each: Entry | Quick) -> int:
    return each[0] if isinstance(each, tuple) else each.received_ns


class Ring:
    """At most so many bytes of entries."""

    def __init__(self, most_bytes: int = DEFAULT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0
        self.last_seq = 0
        self._entries: deque[Entry | Quick] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return self.each()

    def each(self, after: int = 0, *, newest_first: bool = False) -> Iterator[Entry]:
        """The requests that have come after this one by now. Others may come and go meanwhile."""
        numbers = range(max(after + 1, self.first_seq), self.last_seq + 1)
        for seq in reversed(numbers) if newest_first else numbers:
            if not self._entries:
                return
            entry = self.get(seq)
            if entry is not None:
                yield entry

    def keep(self, quick: Quick) -> None:
        """Keep a request that was answered at once."""
        self.last_seq += 1
        self._entries.append(quick)
        self.used_bytes += _ENTRY_BYTES + len(quick[6]) + len(quick[8])
        if self.used_bytes > self.most_bytes:
            self._make_room()

    def add(
        self, client: tuple[str, int], frame: bytes, request_bytes: int, received_ns: int = 0
    ) -> Entry:
        """Keep a request that has come."""
        self.last_seq += 1
        received_ns = received_ns or time_ns()
        entry = Entry(self.last_seq, client, frame, request_bytes, received_ns)
        self._entries.append(entry)
        self.used_bytes += entry.size
        if self.used_bytes > self.most_bytes:
            self._make_room()
        return entry

    def ended(self, entry: Entry, outcome: Outcome, answer: tuple[bytes | int, ...] = ()) -> None:
        """Keep what became of a request."""
        entry.answered_ns = time_ns()
        entry.outcome = outcome
        if answer:
            entry.answer = answer
            for chunk in answer:
                if isinstance(chunk, int):
                    entry.answer_bytes += chunk
                else:
                    entry.answer_bytes += len(chunk)
                    entry.size += len(chunk)
                    if entry.is_kept:
                        self.used_bytes += len(chunk)
            if self.used_bytes > self.most_bytes:
                self._make_room()

    def get(self, seq: int) -> Entry | None:
        """The request of this number, if it is still here."""
        index = seq - self.first_seq
        if not self._entries or not 0 <= index < len(self._entries):
            return None
        return self._at(index)

    def _at(self, index: int) -> Entry:
        found = self._entries[index]
        if isinstance(found, tuple):
            found = self._entries[index] = _entry_of(self.first_seq + index, found)
        return found

    def seq_of(self, connection: str, correlation_id: int, by_ns: int) -> int | None:
        """The number of the request with this correlation id that a client had sent by then.

        None if it is not kept. Few have come meanwhile: it is among the last ones of that time.
        """
        there = self._entries
        end = bisect_right(there, by_ns, key=_received_ns)
        for index in range(end - 1, max(-1, end - 1 - _LOOKED_AT), -1):
            found = there[index]
            if isinstance(found, tuple):
                host, port, frame = found[2], found[3], found[6]
            else:
                (host, port), frame = found.client, found.frame
            is_of_id = int.from_bytes(frame[4:8], "big", signed=True) == correlation_id
            if is_of_id and f"{host}:{port}" == connection:
                return self.first_seq + index
        return None

    def after(self, seq: int, most: int | None = None) -> list[Entry]:
        """The requests that came after this one, the oldest first; the first ones, if so many."""
        there = self._entries
        count = min(len(there), max(0, self.last_seq - seq))
        if most is not None and most < count:
            start = len(there) - count
            return [self._at(index) for index in range(start, start + most)]
        # From the end: those who follow ask for a few of very many.
        found: list[Entry] = []
        for number, each in zip(
            range(self.last_seq, self.last_seq - count, -1), reversed(there), strict=False
        ):
            found.append(_entry_of(number, each) if isinstance(each, tuple) else each)
        found.reverse()
        for _ in range(count):
            there.pop()
        there.extend(found)
        return found

    @property
    def first_seq(self) -> int:
        """The number of the oldest request that is here; 0 if there is none."""
        return self.last_seq - len(self._entries) + 1 if self._entries else 0

    def clearing(self) -> Steps[None]:
        """Forget all that have come by now. Numbers go on."""
        last_seq = self.last_seq
        while self._entries and self.first_seq <= last_seq:
            self._drop()
            yield

    def resizing(self, most_bytes: int) -> Steps[None]:
        """Have other bounds."""
        while self._entries and self.used_bytes > most_bytes:
            self._drop()
            yield
        self.most_bytes = most_bytes

    def _make_room(self) -> None:
        while self._entries and self.used_bytes > self.most_bytes:
            self._drop()

    def _drop(self) -> None:
        entry = self._entries.popleft()
        if isinstance(entry, tuple):
            self.used_bytes -= _ENTRY_BYTES + len(entry[6]) + len(entry[8])
        else:
            entry.is_kept = False
            self.used_bytes -= entry.size
