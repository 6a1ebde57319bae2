"""An acknowledgement counts whole or not at all; a leaving member or time makes others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pytest

from kafkalite.replica.share.acknowledgement import (
    LOCKS_AT_ONCE,
    Acknowledgement,
    RequestFailed,
    Settle,
    acknowledge,
    release_all,
    release_expired,
    settle_all,
)
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.replica.share.share_partition import ShareLimits
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.replica.share.share_world import World, offsets

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (GAP, RecordState.ARCHIVED),
        (ACCEPT, RecordState.ACKNOWLEDGED),
        (RELEASE, RecordState.AVAILABLE),
        (REJECT, RecordState.ARCHIVED),
        (RENEW, RecordState.ACQUIRED),
    ],
)
def test_what_a_word_makes_of_a_record(kind: int, state: RecordState) -> None:
    world = World([3])
    world.fetch()
    world.say(kind, 1, 1)
    assert world.states()[1] == (state, 1)
    assert world.states()[2] == (RecordState.ACQUIRED, 1)


def test_each_offset_may_have_a_word_of_its_own() -> None:
    world = World([4])
    world.fetch()
    said = Acknowledgement(0, 3, [RELEASE, ACCEPT, REJECT, RENEW])
    acknowledge(world.share, "a", [said])
    assert [state for state, _ in world.states().values()] == [
        RecordState.AVAILABLE,
        RecordState.ACKNOWLEDGED,
        RecordState.ARCHIVED,
        RecordState.ACQUIRED,
    ]
    assert [(each.first_offset, each.delivery_state) for each in world.stored] == [
        (0, RecordState.AVAILABLE),
        (1, RecordState.ACKNOWLEDGED),
        (2, RecordState.ARCHIVED),
    ]


def test_what_is_done_at_the_front_moves_the_start() -> None:
    world = World([4, 4])
    world.fetch()
    world.say(ACCEPT, 4, 7)
    assert world.share.start_offset == 0
    world.say(ACCEPT, 0, 3)
    assert world.share.start_offset == 8


def test_what_is_to_count_later_is_stored_at_once() -> None:
    """Released records are with nobody until then, and the start offset stays."""
    world = World([2, 1])
    world.fetch(batch_size=2)
    later: deque[Settle] = deque()
    acknowledge(world.share, "a", [Acknowledgement(0, 1, [RELEASE])], later)
    acknowledge(world.share, "a", [Acknowledgement(2, 2, [ACCEPT])], later)
    assert [(each.first_offset, each.delivery_state) for each in world.stored] == [
        (0, RecordState.AVAILABLE),
        (2, RecordState.ACKNOWLEDGED),
    ]
    world.append(1)
    with pytest.raises(KafkaError, match="not in the acquired state"):
        world.say(ACCEPT, 0, 1)
    release_all(world.share, "a")
    assert offsets(world.fetch()) == [3]
    settle_all(later)
    assert not later
    assert offsets(world.fetch()) == [0, 1]
    world.say(ACCEPT, 0, 1)
    assert world.share.start_offset == 3


def test_records_that_are_let_go_may_go_from_the_log() -> None:
    world = World([2, 1])
    world.fetch()
    later: deque[Settle] = deque()
    acknowledge(world.share, "a", [Acknowledgement(0, 1, [RELEASE])], later)
    world.share.log_start_moved(1)
    settle_all(later)
    assert offsets(world.fetch()) == [1]
    world.say(ACCEPT, 1, 2)
    assert world.share.start_offset == 3


def test_the_last_delivery_is_not_released() -> None:
    world = World([1], delivery_count_limit=2)
    for _ in range(2):
        world.fetch()
        world.say(RELEASE, 0, 0)
    assert world.fetch() == []
    assert world.share.start_offset == 1


def code(world: World, *said: Acknowledgement, member_id: str = "a") -> ErrorCode:
    """The refusal; nothing of the whole has happened."""
    before, updates = world.states(), len(world.updates)
    with pytest.raises(KafkaError) as refused:
        acknowledge(world.share, member_id, said)
    assert world.states() == before
    assert len(world.updates) == updates
    assert world.share.delivery_complete_count == 0
    return refused.value.code


GOOD = Acknowledgement(0, 0, [ACCEPT])


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (Acknowledgement(2, 9, [ACCEPT]), ErrorCode.INVALID_REQUEST),
        (Acknowledgement(7, 9, [ACCEPT]), ErrorCode.INVALID_REQUEST),
        (Acknowledgement(2, 2, [9]), ErrorCode.INVALID_REQUEST),
        (Acknowledgement(1, 1, [ACCEPT]), ErrorCode.INVALID_RECORD_STATE),
    ],
    ids=["past the end", "behind the end", "an unknown word", "not acquired"],
)
def test_one_wrong_word_takes_back_all(bad: Acknowledgement, expected: ErrorCode) -> None:
    world = World([4])
    world.fetch()
    world.say(RELEASE, 1, 1)
    assert code(world, GOOD, bad) is expected


def test_only_the_owner_speaks_for_a_record() -> None:
    world = World([4])
    world.fetch("a")
    assert code(world, GOOD, member_id="b") is ErrorCode.INVALID_RECORD_STATE
    world.say(RENEW, 0, 0)  # takes the batch apart
    assert code(world, GOOD, member_id="b") is ErrorCode.INVALID_RECORD_STATE


def test_offsets_that_were_never_delivered_are_refused() -> None:
    assert code(World([4]), GOOD) is ErrorCode.INVALID_RECORD_STATE


def test_what_is_behind_the_start_is_passed_over() -> None:
    world = World([2, 2])
    world.fetch()
    world.say(ACCEPT, 0, 1)
    updates = len(world.updates)
    world.say(REJECT, 0, 1)
    assert len(world.updates) == updates


def test_a_batch_around_the_start_of_an_empty_cache_fails_the_request() -> None:
    world = World([4])
    world.fetch()
    world.say(ACCEPT, 0, 3)
    with pytest.raises(RequestFailed):
        world.say(ACCEPT, 3, 5)
    assert code(world, Acknowledgement(4, 5, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_runs_anew() -> None:
    world = World([2])
    world.fetch()
    world.now = 20.0
    world.say(RENEW, 0, 0)
    world.now = 31.0
    release_expired(world.share)
    assert world.states()[0][0] is RecordState.ACQUIRED
    assert world.states()[1][0] is RecordState.AVAILABLE
    assert world.stored == [StateBatch(1, 1, RecordState.AVAILABLE, 1)]


def test_renewals_can_be_forbidden() -> None:
    world = World([2], renew_acknowledge_enable=False)
    world.fetch()
    assert code(world, Acknowledgement(0, 0, [RENEW])) is ErrorCode.INVALID_RECORD_STATE


def test_the_records_of_a_member_that_is_gone_are_free() -> None:
    world = World([2, 2])
    world.fetch("a", most=2)
    world.fetch("b", most=2)
    release_all(world.share, "a")
    assert offsets(world.fetch("c")) == [0, 1]
    assert world.states()[2][0] is RecordState.ACQUIRED


def test_when_nothing_can_be_written_nothing_is_acknowledged() -> None:
    world = World([10])
    world.fetch()
    world.broken = True
    before = world.states()
    with pytest.raises(KafkaError):
        world.say(ACCEPT, 0, 9)
    assert world.states() == before
    assert world.share.delivery_complete_count == 0
    world.broken = False
    world.say(ACCEPT, 0, 9)
    assert world.share.start_offset == 10


def test_a_lock_runs_out_even_if_that_cannot_be_written() -> None:
    world = World([3])
    world.fetch("a")
    world.broken = True
    world.now = 31.0
    with pytest.raises(KafkaError):
        release_expired(world.share)
    assert offsets(world.fetch("b")) == [0, 1, 2]


def test_each_lock_that_runs_out_is_written_by_itself() -> None:
    """Apache Kafka writes an update for each, which decides on how they are joined."""
    world = World([3])
    world.fetch("a")
    world.now = 1.0
    world.say(RENEW, 0, 0)
    world.now = 61.0
    stored: list[Sequence[StateBatch]] = []
    world.share.write = lambda update: stored.append(update.batches)
    release_expired(world.share)
    assert stored == [[StateBatch(each, each, RecordState.AVAILABLE, 1)] for each in range(3)]


def test_no_more_locks_run_out_at_once_than_a_turn_of_the_loop_has_time_for() -> None:
    world = World([2 * LOCKS_AT_ONCE])
    world.fetch("a")
    world.say(RENEW, 0, 0)
    world.now = 61.0
    for number in (1, 2):
        release_expired(world.share)
        free = [state for state, _ in world.states().values() if state is RecordState.AVAILABLE]
        assert len(free) == number * LOCKS_AT_ONCE


def test_the_limits_are_read_once_for_all_of_a_call() -> None:
    """They are looked up in configs, which takes longer than to change a record."""
    world = World([500])
    world.fetch()
    reads: list[int] = []

    def limits() -> ShareLimits:
        reads.append(0)
        return world.limits

    world.share.limits = limits
    kinds = [(RELEASE, ACCEPT)[offset % 2] for offset in range(500)]
    acknowledge(world.share, "a", [Acknowledgement(n, n, [kind]) for n, kind in enumerate(kinds)])
    assert len(reads) == 1
