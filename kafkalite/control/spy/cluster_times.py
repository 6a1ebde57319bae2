"""The cluster's time at a time of the machine's clock: requests are kept with the latter alone.

The cluster's clock is noted when it is set, stopped or started, which is rarely. So no request has
to ask for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from time import time_ns
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from kafkalite.control.clock import ClusterClock

_NS_IN_MS: Final = 1_000_000
_MOST_SPANS: Final = 10_000


class _Span(NamedTuple):
    """From when on the clock was so far ahead, in ms, or stood still at a time."""

    from_ns: int
    ahead_ms: int
    stands_at_ms: int | None


class ClusterTimes:
    """The last settings of one cluster's clock."""

    def __init__(self) -> None:
        self._spans: deque[_Span] = deque(maxlen=_MOST_SPANS)

    def note(self, clock: ClusterClock) -> None:
        """From now on it is as this clock says."""
        if clock.is_frozen:
            span = _Span(time_ns(), 0, clock.now_ms())
        else:
            span = _Span(time_ns(), clock.ahead_ms + clock.skew_ms, None)
        # A reset notes the clock, too, which most often is as it was.
        if not self._spans or self._spans[-1][1:] != span[1:]:
            self._spans.append(span)

    def __len__(self) -> int:
        """The number of settings that are kept."""
        return len(self._spans)

    def at(self, moment_ns: int) -> int:
        """The cluster's time, in ms, at a moment of the machine's clock, in ns."""
        index = bisect_right(self._spans, moment_ns, key=lambda span: span.from_ns)
        _, ahead_ms, stands_at_ms = self._spans[max(0, index - 1)]
        return moment_ns // _NS_IN_MS + ahead_ms if stands_at_ms is None else stands_at_ms
