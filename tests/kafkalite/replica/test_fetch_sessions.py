"""Fetch sessions as KIP-227 has them."""

from typing import cast
from uuid import UUID

import pytest

from kafkalite.replica.fetch_sessions import (
    EVICTION_SECONDS,
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION_ID,
    FetchContext,
    FetchSessionCache,
    IncrementalFetch,
)
from kafkalite.replica.fetch_target import FREED_AT_ONCE as AT_ONCE
from kafkalite.replica.fetch_target import PartitionResponses
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchRequestRow,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    PartitionDataRow,
)
from kafkalite.wire.rows import rows_of
from tests.freed_in_steps import most_freed

NAMES = 12  # the last version with topic names
IDS = 13  # the first with topic ids
TOPIC_ID = UUID(int=7)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> FetchSessionCache:
    return FetchSessionCache(16, clock)


@pytest.fixture
def part(clock: Clock) -> FetchSessionCache:
    """All slots in one part, where one session takes the place of another."""
    return FetchSessionCache(2, clock, part_count=1)


def fetch(
    session_id: int = 0,
    epoch: int = FIRST_EPOCH,
    wanted: dict[int, int] | None = None,
    forget: list[int] | None = None,
    broker: int = -1,
) -> FetchRequestRow:
    """A request for partitions of topic t: {partition: offset}."""
    request = FetchRequest(session_id=session_id, session_epoch=epoch, replica_id=broker)
    if wanted:
        request.topics = [
            FetchTopic(
                topic="t",
                topic_id=TOPIC_ID,
                partitions=[
                    FetchPartition(partition=index, fetch_offset=offset)
                    for index, offset in wanted.items()
                ],
            )
        ]
    if forget:
        request.forgotten_topics_data = [
            ForgottenTopic(topic="t", topic_id=TOPIC_ID, partitions=forget)
        ]
    return cast(FetchRequestRow, rows_of(request))


def row(
    index: int = 0,
    code: ErrorCode = ErrorCode.NONE,
    high_watermark: int = 10,
    records: bytes = b"",
) -> PartitionDataRow:
    data = PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=0,
        records=records,
    )
    return cast(PartitionDataRow, rows_of(data))


def answer(
    context: FetchContext,
    records: dict[int, bytes] | None = None,
    errors: dict[int, ErrorCode] | None = None,
    high_watermark: int = 10,
) -> tuple[int, list[int]]:
    """Answer every target; the session id and the partitions mentioned."""
    answers: PartitionResponses = [
        (
            target,
            row(
                target.index,
                (errors or {}).get(target.index, ErrorCode.NONE),
                high_watermark,
                (records or {}).get(target.index, b""),
            ),
        )
        for target in context.targets
    ]
    told = context.tell(answers)
    context.remember(told)
    return context.finish(), [target.index for target, _ in told]


def opened(cache: FetchSessionCache, wanted: dict[int, int]) -> int:
    session_id, _ = answer(cache.begin(fetch(wanted=wanted), IDS))
    return session_id


def refused(cache: FetchSessionCache, request: FetchRequestRow, version: int = IDS) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        cache.begin(request, version)
    return caught.value.code


def test_a_full_fetch_opens_a_session_and_is_answered_whole(cache: FetchSessionCache) -> None:
    session_id, told = answer(cache.begin(fetch(wanted={0: 5, 1: 6}), IDS))
    assert session_id != NO_SESSION_ID
    assert told == [0, 1]
    assert len(cache) == 1


def test_a_sessionless_fetch_opens_none_and_closes_the_one_named(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    context = cache.begin(fetch(session_id, FINAL_EPOCH, {0: 0, 1: 0}), IDS)
    assert answer(context) == (NO_SESSION_ID, [0, 1])
    assert len(cache) == 0


def test_a_full_fetch_replaces_the_session_named(cache: FetchSessionCache) -> None:
    first = opened(cache, {0: 0})
    second, _ = answer(cache.begin(fetch(first, FIRST_EPOCH, {1: 0}), IDS))
    assert second not in (first, NO_SESSION_ID)
    assert len(cache) == 1
    assert refused(cache, fetch(first, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_incremental_answer_mentions_only_news(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0, 1: 0, 2: 0})
    context = cache.begin(fetch(session_id, 1), IDS)
    assert answer(context) == (session_id, [])
    context = cache.begin(fetch(session_id, 2), IDS)
    assert answer(context, records={1: b"batch"}) == (session_id, [1])
    context = cache.begin(fetch(session_id, 3), IDS)
    assert sorted(answer(context, high_watermark=11)[1]) == [0, 1, 2]
    context = cache.begin(fetch(session_id, 4), IDS)
    assert answer(context, high_watermark=11)[1] == []


def test_an_error_is_repeated_and_its_end_is_told(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0, 1: 0})
    errors = {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    for epoch in (1, 2):
        assert answer(cache.begin(fetch(session_id, epoch), IDS), errors=errors)[1] == [0]
    assert answer(cache.begin(fetch(session_id, 3), IDS))[1] == [0]
    assert answer(cache.begin(fetch(session_id, 4), IDS))[1] == []


def test_a_partition_with_records_goes_to_the_end_of_the_line(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0, 1: 0, 2: 0})
    answer(cache.begin(fetch(session_id, 1), IDS), records={0: b"batch"})
    context = cache.begin(fetch(session_id, 2), IDS)
    assert [target.index for target in context.targets] == [1, 2, 0]


def test_what_was_not_told_is_still_news(cache: FetchSessionCache) -> None:
    """A client over its quota is told nothing. The session goes on with the next epoch."""
    session_id = opened(cache, {0: 0, 1: 0})
    context = cache.begin(fetch(session_id, 1), IDS)
    told = context.tell([(context.targets[0], row(high_watermark=20, records=b"batch"))])
    assert len(told) == 1
    assert context.tell_nothing() == session_id
    later = cache.begin(fetch(session_id, 2), IDS)
    assert [target.index for target in later.targets] == [0, 1]
    assert len(later.tell([(later.targets[0], row(high_watermark=20))])) == 1
    assert later.tell([(later.targets[0], row(high_watermark=10))]) == []


def test_no_session_is_opened_of_what_was_not_told(cache: FetchSessionCache) -> None:
    context = cache.begin(fetch(wanted={0: 0}), IDS)
    assert context.tell_nothing() == NO_SESSION_ID
    assert len(cache) == 0


def test_partitions_are_added_changed_and_forgotten(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 5, 1: 5})
    context = cache.begin(fetch(session_id, 1, {1: 9, 2: 3}, forget=[0]), IDS)
    offsets = {target.index: target.wanted[2] for target in context.targets}
    assert offsets == {1: 9, 2: 3}
    assert answer(context)[1] == [2]  # only the new one is news


@pytest.mark.parametrize("version", [NAMES, IDS])
def test_forgetting_everything_closes_the_session(cache: FetchSessionCache, version: int) -> None:
    session_id, _ = answer(cache.begin(fetch(wanted={0: 5}), version))
    context = cache.begin(fetch(session_id, 1, forget=[0]), version)
    assert answer(context) == (NO_SESSION_ID, [])
    assert len(cache) == 0


def test_what_is_wanted_and_forgotten_at_once_is_answered_once_more(
    cache: FetchSessionCache,
) -> None:
    session_id = opened(cache, {0: 5})
    context = cache.begin(fetch(session_id, 1, wanted={0: 6}, forget=[0]), IDS)
    assert [target.wanted[2] for target in context.targets] == [6]
    assert len(cache) == 0


def test_what_is_refused(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    assert refused(cache, fetch(session_id + 1, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(cache, fetch(session_id, 2)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(cache, fetch(session_id, 1), NAMES) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert answer(cache.begin(fetch(session_id, 1), IDS))[0] == session_id


@pytest.mark.parametrize("epoch", [-1, 0, 1])
def test_an_id_that_no_session_can_have_is_an_error(cache: FetchSessionCache, epoch: int) -> None:
    eighth = 268_435_455
    for session_id in (-(2**31), -eighth, 8 * eighth, 2**31 - 1):
        assert refused(cache, fetch(session_id, epoch)) == ErrorCode.UNKNOWN_SERVER_ERROR
    for session_id in (1 - eighth, 8 * eighth - 1):
        if epoch == 1:
            told = refused(cache, fetch(session_id, epoch))
            assert told == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        else:
            cache.begin(fetch(session_id, epoch), IDS)


def test_an_answer_overtaken_by_another_is_refused(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    parked = cache.begin(fetch(session_id, 1), IDS)
    answer(cache.begin(fetch(session_id, 2), IDS))
    with pytest.raises(KafkaError) as caught:
        parked.finish()
    assert caught.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_very_many_partitions_are_taken_in_as_few_are(cache: FetchSessionCache) -> None:
    wanted = {index: 3 * index for index in range(40)}
    whole = cache.begin(fetch(wanted=wanted), IDS)
    sliced = at_once(cache.beginning(fetch(wanted=wanted), IDS))
    asked = [[(each.topic, each.wanted) for each in some.targets] for some in (whole, sliced)]
    assert asked[0] == asked[1]
    session_id, told = answer(sliced)
    assert told == list(wanted)
    changes = fetch(session_id, 1, dict.fromkeys(range(20, 60), 1), list(range(20)))
    changed = at_once(cache.beginning(changes, IDS))
    assert [target.index for target in changed.targets] == list(range(20, 60))
    assert all(target.wanted[2] == 1 for target in changed.targets)
    assert answer(cache.begin(fetch(session_id, 2), IDS))[0] == session_id


def test_what_very_many_partitions_leave_is_freed_little_by_little(
    cache: FetchSessionCache,
) -> None:
    request = fetch(wanted=dict.fromkeys(range(8000), 0))
    assert most_freed(cache.beginning(request, IDS)) < 2500


def test_a_session_takes_no_other_request_while_it_is_changed(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    steps = cache.beginning(fetch(session_id, 1, {1: 0}, [0]), IDS)
    next(steps)
    for epoch in (1, 2):
        refusal = refused(cache, fetch(session_id, epoch))
        assert refusal is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert [target.index for target in at_once(steps).targets] == [1]
    assert answer(cache.begin(fetch(session_id, 2), IDS))[0] == session_id


def test_a_session_may_be_closed_while_it_is_changed(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    steps = cache.beginning(fetch(session_id, 1, {1: 0}), IDS)
    next(steps)
    cache.begin(fetch(session_id, FINAL_EPOCH), IDS)
    with pytest.raises(KafkaError) as raised:
        at_once(steps)
    assert raised.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_epoch_after_the_last_is_1(cache: FetchSessionCache) -> None:
    session_id = opened(cache, {0: 0})
    context = cache.begin(fetch(session_id, 1), IDS)
    assert isinstance(context, IncrementalFetch)
    context.session.epoch = 2**31 - 1
    cache.begin(fetch(session_id, 2**31 - 1), IDS)
    cache.begin(fetch(session_id, 1), IDS)


@pytest.mark.parametrize(("slots", "most"), [(0, 0), (7, 0), (8, 8), (15, 8), (16, 16)])
def test_each_of_eight_parts_has_its_share_of_the_slots(
    clock: Clock, slots: int, most: int
) -> None:
    cache = FetchSessionCache(slots, clock)
    ids = [opened(cache, {0: 0}) for _ in range(20)]
    assert len(cache) == most
    assert [bool(each) for each in ids] == [True] * most + [False] * (20 - most)
    assert [each // (2**31 // 8) for each in ids[:most]] == [each % 8 for each in range(most)]
    assert all(cache.covered(each) for each in ids[:most])
    assert cache.covered(2**31 - 1) == []


def test_a_number_of_a_session_is_never_none(clock: Clock) -> None:
    ids = iter([0, 2**31 // 8 - 1, 5, 5])
    cache = FetchSessionCache(16, clock, lambda: next(ids))
    assert opened(cache, {0: 0}) == 5


def test_a_full_cache_opens_no_session_for_a_newcomer(part: FetchSessionCache) -> None:
    assert opened(part, {0: 0})
    assert opened(part, {0: 0})
    assert answer(part.begin(fetch(wanted={0: 0}), IDS)) == (NO_SESSION_ID, [0])
    assert len(part) == 2


def test_an_unused_session_gives_way(part: FetchSessionCache, clock: Clock) -> None:
    unused, used = opened(part, {0: 0}), opened(part, {0: 0})
    clock.now = EVICTION_SECONDS
    answer(part.begin(fetch(used, 1), IDS))
    clock.now = EVICTION_SECONDS + 1
    assert opened(part, {0: 0}) != NO_SESSION_ID
    assert refused(part, fetch(unused, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert answer(part.begin(fetch(used, 2), IDS))[0] == used


def test_an_old_session_gives_way_to_a_larger_one_only(
    part: FetchSessionCache, clock: Clock
) -> None:
    small, large = opened(part, {0: 0, 1: 0}), opened(part, {0: 0, 1: 0, 2: 0})
    clock.now = EVICTION_SECONDS + 1
    answer(part.begin(fetch(small, 1), IDS))
    answer(part.begin(fetch(large, 1), IDS))
    assert opened(part, {0: 0}) == NO_SESSION_ID
    assert opened(part, {0: 0, 1: 0, 2: 0}) != NO_SESSION_ID
    assert refused(part, fetch(small, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_consumer_s_session_gives_way_to_a_broker_s(part: FetchSessionCache) -> None:
    small, large = opened(part, {0: 0, 1: 0}), opened(part, {0: 0, 1: 0, 2: 0})
    of_broker = fetch(wanted={0: 0}, broker=2)
    first, _ = answer(part.begin(of_broker, IDS))
    assert refused(part, fetch(small, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    second, _ = answer(part.begin(of_broker, IDS))
    assert refused(part, fetch(large, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert NO_SESSION_ID not in (first, second)
    assert answer(part.begin(of_broker, IDS))[0] == NO_SESSION_ID
    assert opened(part, {0: 0, 1: 0, 2: 0}) == NO_SESSION_ID


def test_an_old_session_of_a_broker_gives_way_to_brokers_only(
    part: FetchSessionCache, clock: Clock
) -> None:
    of_broker = fetch(wanted={0: 0}, broker=2)
    sessions = [answer(part.begin(of_broker, IDS))[0] for _ in range(2)]
    clock.now = EVICTION_SECONDS + 1
    for each in sessions:
        answer(part.begin(fetch(each, 1), IDS))
    assert opened(part, {0: 0, 1: 0}) == NO_SESSION_ID
    assert answer(part.begin(of_broker, IDS))[0] != NO_SESSION_ID


def test_sessions_of_very_many_partitions_are_freed_little_by_little(
    part: FetchSessionCache, clock: Clock
) -> None:
    """A session that finds no place, one that is closed, and one that gives way."""
    many, left = dict.fromkeys(range(2 * AT_ONCE), 0), part._dropped._left
    closed, _ = opened(part, many), opened(part, many)
    assert opened(part, many) == NO_SESSION_ID
    assert [len(each) for each in left] == [2 * AT_ONCE]
    part.begin(fetch(closed, FINAL_EPOCH), IDS)
    assert [len(each) for each in left] == [AT_ONCE, 2 * AT_ONCE]
    clock.now = EVICTION_SECONDS + 1
    assert [bool(opened(part, {0: 0})) for _ in range(2)] == [True, True]
    assert [len(each) for each in left] == [AT_ONCE, 2 * AT_ONCE]
