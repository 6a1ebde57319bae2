"""Lengths of actions in seconds, and of answers that are cut in bytes."""

from __future__ import annotations

import math
import random
from typing import cast

from kafkalite.control.durations import seconds
from kafkalite.control.faults.rule import Action


def delay_seconds(action: Action, luck: random.Random) -> float:
    """The length of one delay in seconds. `luck` is the rule's own, so a seed repeats a run."""
    if action.delay is not None:
        return seconds(action.delay)
    if action.uniform is not None:
        low, high = (seconds(each) for each in action.uniform)
        return luck.uniform(low, high)
    assert action.lognormal is not None
    return luck.lognormvariate(
        math.log(seconds(action.lognormal.median) or 1e-9), action.lognormal.sigma
    )


def cut_at(cut: float, size: int) -> int:
    """The bytes of an answer that are sent: a part of it below 1, else so many."""
    return int(size * cut) if cut < 1 else min(int(cut), size)


def throttle_seconds(action: Action) -> float:
    """The time in seconds for which a client is told to wait."""
    return seconds(cast(str, action.throttle))
