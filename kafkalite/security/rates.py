"""Rates over Kafka's windows, and its token bucket: what quotas are measured by.

A rate is the sum of the samples that are kept, divided by the time they span, which counts as at
least all windows but one. A rate above its quota costs the time after which it would be back at it.

Source: Kafka's SampledStat, WindowedSum, Rate, TokenBucket, QuotaUtils (KIP-13, KIP-599).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, isnan
from typing import Final

_MAX_LONG: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Window:
    """`quota.window.num` samples of `quota.window.size.seconds` each, here in milliseconds."""

    samples: int = 11
    size_ms: int = 1000


@dataclass(slots=True)
class _Sample:
    start_ms: int
    last_ms: int
    value: float = 0.0

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """A sum per second over a window. Times are milliseconds that never go back."""

    __slots__ = ("_current", "_samples", "window")

    def __init__(self, window: Window) -> None:
        self.window = window
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        if not self._samples:
            self._samples.append(_Sample(now_ms, now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self.window.size_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self.window.samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms, now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _purge(self, now_ms: int) -> None:
        age_ms = self.window.samples * self.window.size_ms
        for sample in self._samples:
            if now_ms - sample.last_ms >= age_ms:
                sample.reset(now_ms)

    def span_ms(self, now_ms: int) -> int:
        """The time that the samples stand for."""
        self._purge(now_ms)
        oldest_ms = min((sample.start_ms for sample in self._samples), default=now_ms)
        elapsed_ms = now_ms - oldest_ms
        missing = self.window.samples - 1 - elapsed_ms // self.window.size_ms
        return max(elapsed_ms + max(missing, 0) * self.window.size_ms, 1)

    def measure(self, now_ms: int) -> float:
        """The rate per second."""
        self._purge(now_ms)
        total = sum(sample.value for sample in self._samples)
        return total / (self.span_ms(now_ms) / 1000)

    def throttle_ms(self, quota: float, now_ms: int, longest_ms: int = _MAX_LONG) -> int:
        """The time to wait until the rate is back at its quota; 0 if it is not above."""
        rate = self.measure(now_ms)
        if rate <= quota:
            return 0
        wait_ms = (rate - quota) / quota * self.span_ms(now_ms) if quota else inf
        return _as_int(min(_rounded(wait_ms), longest_ms))


class TokenBucket:
    """Tokens that come back at the rate of the quota; it may be overdrawn (KIP-599)."""

    __slots__ = ("_last_ms", "_tokens", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        # It is full, whatever it holds.
        self._tokens = inf
        self._last_ms = 0

    def _refill(self, quota: float, now_ms: int) -> float:
        most = self._window.samples * self._window.size_ms / 1000 * quota
        come = quota * (now_ms - self._last_ms) / 1000
        self._tokens = min(most, self._tokens + come)
        self._last_ms = now_ms
        return most

    def record(self, value: float, quota: float, now_ms: int) -> None:
        """Take tokens."""
        most = self._refill(quota, now_ms)
        self._tokens = min(most, self._tokens - value)

    def throttle_ms(self, quota: float, now_ms: int) -> int | None:
        """The time until there are tokens again; None if there are."""
        self._refill(quota, now_ms)
        return _as_int(_rounded(-self._tokens / quota * 1000)) if self._tokens < 0 else None


def _rounded(value: float) -> int:
    """Rounds halves up, like Java's Math.round: to a long; what is no number is 0."""
    if isnan(value):
        return 0
    return floor(value + 0.5) if abs(value) < _MAX_LONG else _MAX_LONG


def _as_int(wait_ms: int) -> int:
    """The time as Kafka counts it, with the last 32 bits of a long; a negative one is none.

    So a client that would have to wait for longer than 24 days waits for any time, or not at all.
    """
    low = wait_ms & 0xFFFF_FFFF
    return low if low < 2**31 else 0
