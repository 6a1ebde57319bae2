"""Throttled replication: a rate for each side, and the replicas that it is for (KIP-73).

`leader.replication.throttled.replicas` and `follower...` of a topic name them, and a broker's
`leader.replication.throttled.rate` and `follower...` say how fast. A follower that is in sync is
never held back, so that a throttle cannot take it out. Its bytes count all the same.

Source: ReplicationQuotaManager, SimpleRate, ReplicaManager.shouldLeaderThrottle,
RemoteLeaderEndPoint.shouldFollowerThrottle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Final

_ALL: Final = "*"


def is_named(replicas: str, index: int, broker_id: int) -> bool:
    """True if a list such as `0:1,2:1` (partition:broker) or `*` names a replica."""
    named = _named(replicas)
    return named is None or (index, broker_id) in named


@lru_cache(maxsize=64)
def _named(replicas: str) -> frozenset[tuple[int, int]] | None:
    """The replicas of a list, which is read once for all partitions of a topic; None for all."""
    names = replicas.split(",") if replicas else []
    if _ALL in names:
        return None
    pairs = (each.partition(":") for each in names)
    return frozenset((int(left), int(right)) for left, _, right in pairs)


@dataclass(slots=True)
class _Sample:
    begin: float
    size: int


class Throttle:
    """Bytes of the last seconds against a rate. `rate` gives it, in bytes a second.

    Times are seconds of one clock. Kafka keeps 11 samples of 1 s.
    """

    def __init__(
        self,
        rate: Callable[[], float] = lambda: inf,
        sample_count: int = 11,
        sample_seconds: float = 1.0,
    ) -> None:
        self._rate = rate
        self._sample_seconds = sample_seconds
        self._kept_seconds = sample_count * sample_seconds
        self._samples: deque[_Sample] = deque()

    def record(self, size: int, now: float) -> None:
        """So many bytes went through."""
        samples = self._samples
        if not samples or now - samples[-1].begin >= self._sample_seconds:
            samples.append(_Sample(now, 0))
        samples[-1].size += size

    def is_used_up(self, now: float) -> bool:
        """True if more went through than the rate allows."""
        samples = self._samples
        while samples and now - samples[0].begin >= self._kept_seconds:
            samples.popleft()
        if not samples:
            return False
        elapsed = max(now - samples[0].begin, self._sample_seconds)
        return sum(each.size for each in samples) > self._rate() * elapsed


@dataclass(frozen=True, slots=True)
class Throttles:
    """A broker's: for what it leads, and for what it follows."""

    leader: Throttle = field(default_factory=Throttle)
    follower: Throttle = field(default_factory=Throttle)
