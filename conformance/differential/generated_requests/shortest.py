"""The shortest story that still shows a difference: requests are left out while it stays.

Hypothesis would also make each request simpler, one field at a time; that is thousands of stories,
each with topics of its own, where this is dozens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from conformance.differential.comparison import Difference

SECONDS = 60.0

Tell = Callable[[Sequence[Any]], None]


def shortest(tell: Tell, story: Sequence[Any], found: Difference) -> Difference:
    """The shortest story that still shows the difference, after so many seconds at most."""
    deadline = time.monotonic() + SECONDS
    steps = list(story)
    size = max(1, len(steps) // 2)
    while size:
        start = 0
        while start < len(steps) and time.monotonic() < deadline:
            shorter = steps[:start] + steps[start + size :]
            try:
                tell(shorter)
            except Difference as difference:
                if difference.where == found.where:
                    steps, found = shorter, difference
                    continue
            start += size
        size //= 2
    return found
