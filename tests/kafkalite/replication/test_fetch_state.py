"""A follower cuts its log, appends and asks again by these rules."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from kafkalite.log.files import FILES
from kafkalite.log.leader_epochs import LeaderEpochs
from kafkalite.replication.fetch_state import (
    FetchState,
    OutOfRange,
    Progress,
    cut_offset,
    out_of_range,
)
from kafkalite.wire.errors import ErrorCode

CURRENT_EPOCH = 9  # the leader's, later than any in a log

History = tuple[int, ...]  # the epoch of each record


def epochs_of(history: History) -> LeaderEpochs:
    epochs = LeaderEpochs(Path("nowhere"), FILES)
    for offset, epoch in enumerate(history):
        epochs.note(epoch, offset)
    return epochs


def histories(length: int) -> list[History]:
    return [each for each in product((0, 1, 2), repeat=length) if list(each) == sorted(each)]


def test_rounds_of_cutting_end_at_the_common_history() -> None:
    """Whatever two logs hold, the follower keeps just what the leader has, too."""
    for leader, own in product([h for n in range(5) for h in histories(n)], repeat=2):
        if not may_be(leader, own):
            continue
        common = 0
        while common < min(len(leader), len(own)) and leader[common] == own[common]:
            common += 1
        assert after_cutting(leader, own) == own[:common]


def may_be(one: History, other: History) -> bool:
    """An epoch has one leader, whose log it begins at the end of: all before is the same."""
    return all(
        one[: one.index(epoch)] == other[: other.index(epoch)] for epoch in {*one} & {*other}
    )


def after_cutting(leader: History, log: History) -> History:
    leader_epochs = epochs_of(leader)
    leader_epochs.note(CURRENT_EPOCH, len(leader))
    while log:
        found = leader_epochs.end_offset(log[-1], len(leader))
        if found[0] == log[-1] and found[1] >= len(log):
            break
        own = epochs_of(log).end_offset(found[0], len(log))
        shorter = log[: cut_offset(found, own, len(log))]
        assert len(shorter) < len(log), "a cut that cuts nothing is asked for again for ever"
        log = shorter
    return log


@pytest.mark.parametrize(
    ("start", "end", "own", "expected"),
    [
        (0, 5, 9, OutOfRange.CUT),
        (7, 9, 5, OutOfRange.START_OVER),
        (0, 9, 5, OutOfRange.GO_ON),
        (5, 9, 5, OutOfRange.GO_ON),
    ],
)
def test_out_of_range(start: int, end: int, own: int, expected: OutOfRange) -> None:
    assert out_of_range(start, end, own) is expected


def test_the_wait_grows_and_a_good_answer_makes_it_short_again() -> None:
    state = FetchState(1.0)
    waits: list[float] = []
    now = 0.0
    for _ in range(6):
        state.refused(ErrorCode.UNKNOWN_LEADER_EPOCH, now)
        assert not state.is_due(now)
        waits.append(state.retry_at - now)
        now = state.retry_at
        assert state.is_due(now)
    assert waits == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.0])
    state.went_well()
    state.back_off(now)
    assert state.retry_at - now == pytest.approx(0.05)


def test_a_fenced_epoch_waits_for_the_metadata() -> None:
    state = FetchState(1.0)
    state.refused(ErrorCode.FENCED_LEADER_EPOCH, 0)
    assert state.progress is Progress.STOPPED
    assert not state.is_due(1e9)
