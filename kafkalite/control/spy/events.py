"""Events: changes of a cluster's state, each with its time and reason. The last ones are kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from time import time_ns
from typing import Final, NamedTuple

MOST_EVENTS: Final = 10_000


class Event(NamedTuple):
    """One change. `at_ns` is the machine's time, `cluster_ms` the cluster's."""

    seq: int
    at_ns: int
    cluster_ms: int
    kind: str
    about: dict[str, str | int]
    why: str


class Events:
    """The events of one cluster, whichever broker serves it. `now_ms` is the cluster's clock."""

    def __init__(self, now_ms: Callable[[], int], most: int = MOST_EVENTS) -> None:
        self._now_ms = now_ms
        self._events: deque[Event] = deque(maxlen=most)
        self.last_seq = 0

    def __len__(self) -> int:
        return len(self._events)

    def put(self, kind: str, why: str = "", /, **about: str | int) -> None:
        """Something has changed."""
        self.last_seq += 1
        self._events.append(Event(self.last_seq, time_ns(), self._now_ms(), kind, about, why))

    def put_each(self, kind: str, abouts: Iterable[dict[str, str | int]]) -> None:
        """Several things have changed at the same time."""
        at_ns, cluster_ms = time_ns(), self._now_ms()
        for about in abouts:
            self.last_seq += 1
            self._events.append(Event(self.last_seq, at_ns, cluster_ms, kind, about, ""))

    def after(self, seq: int) -> list[Event]:
        """The events after this one, the oldest first."""
        count = min(len(self._events), max(0, self.last_seq - seq))
        return list(islice(reversed(self._events), count))[::-1]
