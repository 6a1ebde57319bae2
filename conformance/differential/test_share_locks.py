"""Locks of share groups that run out, beside all else that may become of the records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.differential.cluster.topics import fetching
from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    RELEASE,
    RENEW,
    Member,
    configure,
    delete_records,
    offsets,
    produce,
)
from conformance.differential.test_share_states import initialize, make_share_states, read
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

LOCK_SECONDS = 2.0
# Longer than the lock, also on a busy machine; and a part of it that is surely shorter.
OVER = LOCK_SECONDS + 0.8
HALF = LOCK_SECONDS / 2
OWN = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": f"{LOCK_SECONDS * 1000:.0f}",
    # logs are compacted at once
    "log.cleaner.backoff.ms": "50",
    "log.initial.task.delay.ms": "100",
}
# Records that are a day apart are in segments of their own.
COMPACTED = {"cleanup_policy": "compact", "segment_ms": "1000", "min_cleanable_dirty_ratio": "0.01"}
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def _pair(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    _living: list[Broker],
) -> Iterator[Pair]:
    with both(request.config, tmp_path_factory.mktemp("locks"), _living, own=OWN) as pair:
        make_share_states(pair)
        see_once(pair)
        yield pair


def see_once(pair: Pair) -> None:
    """Apache Kafka's first answer about offsets takes it longer than a lock lasts."""
    queue = pair.create_topic("first-queue", 1)
    initialize(pair, "first-group", queue, 0)
    see(pair, "first-group", queue)


@pytest.fixture
def queue(pair: Pair, unique: Callable[[str], str]) -> str:
    return pair.create_topic(unique("queue"), 2)


@pytest.fixture
def member(pair: Pair, group: str, queue: str) -> Callable[..., Member]:
    initialize(pair, group, queue, 0)
    return lambda name="m-1": Member(pair, group, queue, name)


def see(pair: Pair, group: str, queue: str) -> None:
    offsets(pair, group, [(queue, [0])])
    read(pair, group, queue)


def test_what_is_not_said_comes_again(pair: Pair, group: str, queue: str, member: Any) -> None:
    produce(pair, queue, 5, 3)
    m, n = member(), member("m-2")
    m.fetch()
    n.fetch(max_wait_ms=100)
    m.say((0, 1, ACCEPT), (6, 6, ACCEPT))
    see(pair, group, queue)
    time.sleep(OVER)
    see(pair, group, queue)
    n.fetch()
    m.say((2, 4, ACCEPT))
    n.say((2, 4, ACCEPT))
    m.fetch(max_wait_ms=100)
    n.say((5, 5, RELEASE), (7, 7, ACCEPT))
    m.fetch()
    m.say((5, 5, ACCEPT))
    see(pair, group, queue)


def test_a_fetch_waits_for_a_lock_to_run_out(pair: Pair, queue: str, member: Any) -> None:
    """It is answered as soon as there is something again."""
    produce(pair, queue, 4)
    m, n = member(), member("m-2")
    m.fetch()
    begun = time.monotonic()
    answer = n.fetch(max_wait_ms=9_000)
    assert answer.responses
    assert HALF < time.monotonic() - begun < 2 * OVER
    n.say((0, 3, ACCEPT))


@pytest.mark.parametrize("mode", [0, 1])
def test_renewed_in_time(pair: Pair, group: str, queue: str, member: Any, mode: int) -> None:
    produce(pair, queue, 6)
    m, n = member(), member("m-2")
    m.fetch(share_acquire_mode=mode)
    for _ in range(3):
        time.sleep(HALF)
        m.say((0, 3, RENEW), is_renew_ack=True)
    n.fetch()  # what was not renewed
    m.say((0, 2, ACCEPT))
    time.sleep(OVER)
    m.say((3, 3, RENEW), is_renew_ack=True)
    m.say((3, 3, ACCEPT))
    n.say((4, 5, RENEW), is_renew_ack=True)
    m.fetch()
    see(pair, group, queue)


def test_one_renewed_of_a_batch(pair: Pair, group: str, queue: str, member: Any) -> None:
    produce(pair, queue, 5)
    m, n = member(), member("m-2")
    m.fetch()
    time.sleep(HALF)
    m.say((0, 4, RENEW, ACCEPT, RELEASE, RENEW, RELEASE), is_renew_ack=True)
    n.fetch()
    time.sleep(HALF + 0.4)
    n.fetch(max_wait_ms=100)
    m.say((0, 0, ACCEPT), (3, 3, ACCEPT))
    time.sleep(OVER)
    m.fetch()
    see(pair, group, queue)


def test_given_up_by_locks_alone(pair: Pair, group: str, queue: str, member: Any) -> None:
    configure(pair, group, **{"share.delivery.count.limit": "2"})
    produce(pair, queue, 3, 2)
    m = member()
    for _ in range(2):
        # One lock: of two, Apache Kafka may store the second before or after what the first moves.
        m.fetch(max_records=3)
        see(pair, group, queue)
        time.sleep(OVER)
    see(pair, group, queue)
    m.fetch()
    time.sleep(OVER)
    see(pair, group, queue)
    m.fetch(max_wait_ms=100)
    produce(pair, queue, 1)
    m.fetch()


def test_gone_from_the_log_meanwhile(pair: Pair, group: str, queue: str, member: Any) -> None:
    produce(pair, queue, 4, 4, 4)
    m, n = member(), member("m-2")
    m.fetch(max_records=8)
    m.say((1, 1, ACCEPT), (6, 6, RELEASE))
    delete_records(pair, queue, 6)
    n.fetch()
    time.sleep(OVER)
    see(pair, group, queue)
    n.fetch()
    m.say((4, 7, ACCEPT))
    n.say((6, 7, ACCEPT))
    n.say((8, 11, ACCEPT))
    time.sleep(OVER)
    see(pair, group, queue)
    n.fetch(max_wait_ms=100)


def write(pair: Pair, topic: str, days: int, keys: str) -> None:
    """A batch of records with these keys, in the segment of that day."""
    data = build_batch(
        [Record(timestamp=days * DAY_MS, key=key.encode(), value=b"v") for key in keys]
    )
    partition = PartitionProduceData(index=0, records=data)
    topic_data = [TopicProduceData(name=topic, partition_data=[partition])]
    pair.ask(ApiKey.PRODUCE, 12, ProduceRequest(acks=-1, timeout_ms=5000, topic_data=topic_data))


def until_only(pair: Pair, topic: str, *offsets: int) -> None:
    """Wait until both have compacted the log, and these offsets are left in its first segment,
    which is all but the one that is written to."""

    def has_them(answer: Any) -> bool:
        records = bytes(answer.responses[0].partitions[0].records or b"")
        left = [r.offset for batch in iterate_batches(records) for r in iterate_records(batch)]
        return left == list(offsets)

    for side in pair.sides:
        side.until(ApiKey.FETCH, 12, fetching(topic, 12, [0]), has_them)


@pytest.mark.parametrize("mode", [0, 1])
def test_gaps_by_compaction(pair: Pair, group: str, unique: Any, mode: int) -> None:
    """Records within batches, and whole batches, are gone: some before they were delivered, some
    while a member had them."""
    queue = pair.create_topic(unique("compacted"), 1, **COMPACTED)
    configure(pair, group, **{"share.record.lock.duration.ms": "60000"})
    initialize(pair, group, queue, 0)
    m, n = Member(pair, group, queue), Member(pair, group, queue, "m-2")
    for day, keys in enumerate(("abcde", "fgh", "axc", "!"), 1):
        write(pair, queue, day, keys)
    until_only(pair, queue, 1, 3, 4, 5, 6, 7, 8, 9, 10)
    m.fetch(max_records=4, share_acquire_mode=mode)
    see(pair, group, queue)
    for day, keys in enumerate(("bfgh", "d", "?"), 5):
        write(pair, queue, day, keys)
    until_only(pair, queue, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16)
    m.say((0, 1, GAP, ACCEPT), (2, 3, RELEASE))
    n.fetch(max_records=5, share_acquire_mode=mode)
    see(pair, group, queue)
    n.fetch(epoch=-1, without_topics=True)
    time.sleep(0.5)  # Apache Kafka answers before what is released is stored
    for _ in range(3):
        m.fetch(share_acquire_mode=mode, max_wait_ms=100)
        see(pair, group, queue)
    m.say((5, 17, ACCEPT))
    m.say((2, 4, ACCEPT))
    see(pair, group, queue)


def test_the_session_ends_first(pair: Pair, group: str, queue: str, member: Any) -> None:
    """Records are released at once, renewed or not; the locks that were are none."""
    produce(pair, queue, 6)
    m, n = member(), member("m-2")
    m.fetch(max_records=6)
    m.say((0, 1, RENEW), (2, 2, ACCEPT), is_renew_ack=True)
    m.fetch(epoch=-1, without_topics=True)
    time.sleep(0.5)  # Apache Kafka answers before what is released is stored
    n.fetch()
    time.sleep(HALF)
    n.say((0, 5, RENEW), is_renew_ack=True)
    time.sleep(HALF + 0.4)
    m.fetch(epoch=0, max_wait_ms=100)
    n.say((0, 1, ACCEPT), (3, 5, ACCEPT))
    see(pair, group, queue)


def test_a_connection_is_cut(pair: Pair, group: str, queue: str, member: Any) -> None:
    """The records of the member are released; those of another stay with it."""
    produce(pair, queue, 4, 4)
    m, n = member(), member("m-2")
    m.fetch(max_records=4)
    n.fetch()
    for side in pair.sides:
        side.hang_up("m-1")
    time.sleep(0.7)
    n.fetch()
    n.say((0, 7, ACCEPT))
    m.fetch(epoch=0, max_wait_ms=100)
    see(pair, group, queue)


def test_a_topic_is_deleted_while_it_is_out(
    pair: Pair, group: str, queue: str, member: Any
) -> None:
    produce(pair, queue, 4)
    m, n = member(), member("m-2")
    ids = {side: side.topic_id(queue) for side in pair.sides}
    m.topic_id = n.topic_id = ids.__getitem__
    m.fetch(max_records=2, share_acquire_mode=1)
    n.fetch(max_wait_ms=100)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=queue)], timeout_ms=5000)
    pair.ask(ApiKey.DELETE_TOPICS, 6, request)
    pair.settle()
    time.sleep(0.5)
    m.say((0, 0, ACCEPT))
    m.fetch((1, 1, ACCEPT), max_wait_ms=100)
    n.fetch(max_wait_ms=100)
    time.sleep(OVER)
    m.fetch(max_wait_ms=100)
    offsets(pair, group, None)
    pair.create_topic(queue, 1)
    offsets(pair, group, [(queue, [0])])
    m.fetch(max_wait_ms=100)
    m.fetch(epoch=-1, without_topics=True)
