"""Frames as they came and were answered, as many as there is room for.

Nothing is decoded here. Entries are in the order in which the requests came; the oldest go first.
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

DEFAULT_BYTES: Final = 32 << 20
# An entry takes this much beside its frames.
_ENTRY_BYTES: Final = 400


class Entry:
    """One request. `answer` has the chunks in memory, and sizes in the place of those in files.

    `context` is there while the request is not answered. `topics` and `error` are found out when
    somebody looks.
    """

    __slots__ = (
        "answer",
        "answer_bytes",
        "answered_ns",
        "client",
        "context",
        "error",
        "fault",
        "frame",
        "is_kept",
        "is_silent",
        "outcome",
        "parked_ns",
        "received_ns",
        "request_bytes",
        "seq",
        "size",
        "topics",
        "why",
    )

    def __init__(self, seq: int, client: tuple[str, int], frame: bytes, request_bytes: int) -> None:
        self.seq = seq
        self.client = client
        self.frame = frame
        self.request_bytes = request_bytes
        self.received_ns = time_ns()
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
        self.error: str | None = None

    @property
    def is_truncated(self) -> bool:
        """Tells whether not all of the request is kept."""
        return len(self.frame) < self.request_bytes


class Ring:
    """At most so many bytes of entries."""

    def __init__(self, most_bytes: int = DEFAULT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0
        self.last_seq = 0
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))

    def add(self, client: tuple[str, int], frame: bytes, request_bytes: int) -> Entry:
        """Keep a request that has come."""
        self.last_seq += 1
        entry = Entry(self.last_seq, client, frame, request_bytes)
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
        index = bisect_right(self._entries, seq - 1, key=lambda each: each.seq)
        if index < len(self._entries) and self._entries[index].seq == seq:
            return self._entries[index]
        return None

    def after(self, seq: int) -> list[Entry]:
        """The requests that came after this one, the oldest first."""
        return [each for each in self._entries if each.seq > seq]

    @property
    def first_seq(self) -> int:
        """The number of the oldest request that is here; 0 if there is none."""
        return self._entries[0].seq if self._entries else 0

    def clear(self) -> None:
        """Forget all. Numbers go on."""
        while self._entries:
            self._drop()

    def resize(self, most_bytes: int) -> None:
        """Have other bounds."""
        self.most_bytes = most_bytes
        self._make_room()

    def _make_room(self) -> None:
        while self._entries and self.used_bytes > self.most_bytes:
            self._drop()

    def _drop(self) -> None:
        entry = self._entries.popleft()
        entry.is_kept = False
        self.used_bytes -= entry.size
