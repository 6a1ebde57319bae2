"""One ShareFetch: what is read of each partition, and what of it is acquired."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.page_cache import NotCached
from kafkalite.replica.share import share_reader
from kafkalite.replica.share.acquisition import Acquired, Wanted
from kafkalite.replica.share.share_reader import Fetched, Limits, ShareReader
from kafkalite.replica.share.share_sessions import TopicPartitionId
from kafkalite.requests.slices import at_once
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.record_batch import RecordBatch, iterate_batches
from tests.kafkalite.one_share_group import (
    GROUP,
    NODE,
    NOW_MS,
    OneShareGroup,
    one_share_group,
    read,
)


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group(3, transaction_partition_verification_enable="false") as made:
        yield made


def reader(
    group: OneShareGroup,
    *where: TopicPartitionId,
    most: int = 500,
    limits: Limits | None = None,
    node_id: int = NODE,
    member_id: str = "member",
    limited: bool = False,
) -> ShareReader:
    wanted = Wanted(member_id, most, 500, limited)
    return group.reader(where or [group.where()], wanted, limits, node_id=node_id)


def seen(fetched: Fetched) -> tuple[list[int], list[Acquired]]:
    """The offsets at which the batches begin, and what is acquired."""
    return [batch.base_offset for batch in iterate_batches(fetched.records)], list(fetched.acquired)


def test_what_there_is_is_acquired(group: OneShareGroup) -> None:
    group.append(b"a", b"b")
    group.append(b"c")
    answer = read(reader(group))
    assert seen(answer[group.where()]) == ([0, 2], [Acquired(0, 2, 1)])
    (nothing,) = read(reader(group)).values()
    assert seen(nothing) == ([], [])


def test_batches_are_sent_from_the_first_acquired_to_the_last(group: OneShareGroup) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        group.append(value)
    read(reader(group, most=2))
    answer = read(reader(group, most=1))
    assert seen(answer[group.where()]) == ([2], [Acquired(2, 2, 1)])


def test_no_more_records_than_wanted_over_all_partitions(group: OneShareGroup) -> None:
    for index in (0, 1):
        group.append(b"a", b"b", b"c", index=index)
    both = read(reader(group, group.where(0), group.where(1), most=4, limited=True))
    assert seen(both[group.where(0)]) == ([0], [Acquired(0, 2, 1)])
    assert seen(both[group.where(1)]) == ([0], [Acquired(0, 0, 1)])


def test_the_bytes_are_shared_among_partitions(group: OneShareGroup) -> None:
    for index in (0, 1):
        for _ in range(10):
            group.append(bytes(1000), index=index)
    limits = Limits(1, 4500)
    both = read(reader(group, group.where(0), group.where(1), limits=limits))
    counts = [len(seen(both[group.where(index)])[0]) for index in (0, 1)]
    assert counts == [2, 2]


def test_a_batch_larger_than_the_limit_is_sent_all_the_same(group: OneShareGroup) -> None:
    group.append(bytes(10_000))
    answer = read(reader(group, limits=Limits(1, 100)))
    assert seen(answer[group.where()]) == ([0], [Acquired(0, 0, 1)])


def test_partitions_that_cannot_be_read_say_why(group: OneShareGroup) -> None:
    asked = reader(group, group.where(7), group.where(0))
    assert not asked.has_only_errors
    error = read(asked)[group.where(7)].error
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elsewhere = reader(group, node_id=NODE + 1)
    assert elsewhere.has_only_errors
    error = read(elsewhere)[group.where()].error
    assert error is not None
    assert error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_deleted_records_are_passed_over(group: OneShareGroup) -> None:
    group.append(b"a")
    group.append(b"b")
    group.partition().delete_records_before(1)
    assert seen(read(reader(group))[group.where()]) == ([], [])
    assert seen(read(reader(group))[group.where()]) == ([1], [Acquired(1, 1, 1)])


def test_it_has_enough_when_there_is_something(group: OneShareGroup) -> None:
    waiting = reader(group)
    assert not waiting.has_enough()
    group.append(b"a")
    assert waiting.has_enough()
    assert len(at_once(waiting.watching())) == 2


def test_it_waits_for_as_many_bytes_as_it_wants(group: OneShareGroup) -> None:
    waiting = reader(group, limits=Limits(2000, 1 << 20))
    group.append(bytes(1000))
    assert not waiting.has_enough()
    group.append(bytes(1000))
    assert waiting.has_enough()


def test_a_larger_batch_counts_no_more_bytes_than_were_asked_for(group: OneShareGroup) -> None:
    group.append(bytes(1000))
    both = group.where(0), group.where(1)
    assert not reader(group, *both, limits=Limits(200, 200)).has_enough()
    group.append(bytes(1000), index=1)
    assert reader(group, *both, limits=Limits(200, 200)).has_enough()


def test_what_is_looked_at_for_the_first_time_is_read_apart(group: OneShareGroup) -> None:
    """Each reading has a batch that is larger than all bytes, and what was known comes first."""
    first, second, third = (group.where(index) for index in range(3))
    assert not reader(group, third).has_enough()
    for index in range(3):
        group.append(bytes(1000), index=index)
    asked = reader(group, first, second, third, most=2, limits=Limits(1, 300))
    assert asked.has_enough()
    answers = read(asked)
    acquired = {where: seen(answer)[1] for where, answer in answers.items()}
    assert acquired == {third: [Acquired(0, 0, 1)], first: [Acquired(0, 0, 1)], second: []}
    assert list(answers) == [third, first, second]


def test_after_it_has_waited_all_are_read_together(group: OneShareGroup) -> None:
    first, second = group.where(0), group.where(1)
    asked = reader(group, first, second, most=1)
    assert not asked.has_enough()
    for index in (1, 0):
        group.append(b"a", index=index)
        assert asked.has_enough()
    assert list(read(asked)) == [first, second]


def test_a_read_ends_with_its_segment(group: OneShareGroup) -> None:
    """Few bytes that are left in it are not waited for, as in Kafka."""
    group.append(b"a")
    group.append(b"b")
    group.partition().log.roll()
    group.append(b"c")
    asked = reader(group, limits=Limits(2000, 1 << 20))
    assert asked.has_enough()
    assert seen(read(asked)[group.where()]) == ([0, 1], [Acquired(0, 1, 1)])
    asked = reader(group, limits=Limits(2000, 1 << 20))
    assert not asked.has_enough()
    assert seen(read(asked)[group.where()]) == ([2], [Acquired(2, 2, 1)])


def test_what_is_with_another_is_not_enough(group: OneShareGroup) -> None:
    group.append(b"a")
    read(reader(group, member_id="other"))
    assert not reader(group).has_enough()


def test_a_partition_that_is_no_longer_ours_is_answered_at_once(group: OneShareGroup) -> None:
    waiting = reader(group)
    group.partition().leader_epoch += 1
    assert waiting.has_enough()
    assert read(waiting) == {}


def test_a_partition_whose_start_moved_is_answered_at_once(group: OneShareGroup) -> None:
    group.append(b"a")
    waiting = reader(group, limits=Limits(2000, 1 << 20))
    assert not waiting.has_enough()
    group.partition().delete_records_before(-1)
    assert waiting.has_enough()


def transactional(group: OneShareGroup, sequence: int, *values: bytes) -> None:
    group.append(
        *values,
        producer_id=5,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )


def end(group: OneShareGroup, *, commit: bool) -> None:
    marker = build_end_transaction_marker(
        producer_id=5, producer_epoch=0, commit=commit, coordinator_epoch=0, timestamp=NOW_MS
    )
    group.partition().append(marker, origin=AppendOrigin.COORDINATOR)


@pytest.mark.parametrize("commit", [True, False])
def test_a_group_may_read_committed_records_only(group: OneShareGroup, commit: bool) -> None:
    configs: dict[Any, Any] = group.services.cluster.image.configs
    configs[32, GROUP] = {"share.isolation.level": "read_committed"}
    transactional(group, 0, b"a", b"b")
    assert not reader(group).has_enough()
    end(group, commit=commit)
    group.append(b"after")
    answer = read(reader(group))[group.where()]
    offsets = [
        offset
        for each in answer.acquired
        for offset in range(each.first_offset, each.last_offset + 1)
    ]
    assert [offset for offset in offsets if offset != 2] == ([0, 1, 3] if commit else [3])


def test_an_aborted_batch_that_begins_before_the_start_is_an_error(group: OneShareGroup) -> None:
    """Kafka's own: what was acquired stays so until its lock ends."""
    configs: dict[Any, Any] = group.services.cluster.image.configs
    configs[32, GROUP] = {"share.isolation.level": "read_committed"}
    transactional(group, 0, b"a", b"b", b"c")
    end(group, commit=False)
    group.append(b"after")
    group.partition().delete_records_before(1)
    read(reader(group))  # it finds out that the start has moved
    answer = read(reader(group))[group.where()]
    assert answer.error is not None
    assert answer.error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert seen(answer) == ([], [])
    assert group.partitions.next_lock_time() < inf
    assert seen(read(reader(group))[group.where()]) == ([], [])


def test_others_read_what_is_not_committed(group: OneShareGroup) -> None:
    transactional(group, 0, b"a", b"b")
    assert seen(read(reader(group))[group.where()]) == ([0], [Acquired(0, 1, 1)])


def test_partitions_beyond_what_is_wanted_are_not_read_but_looked_at(
    group: OneShareGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index in (0, 1):
        group.append(b"a", index=index)
        group.append(b"b", index=index)
    read(reader(group, group.where(1), most=0))  # its share partition begins at 0
    group.partition(1).delete_records_before(1)
    reads = list[int]()

    def noted(records: bytes) -> Iterator[RecordBatch]:
        reads.append(len(records))
        return iterate_batches(records)

    monkeypatch.setattr(share_reader, "iterate_batches", noted)
    answers = read(reader(group, group.where(0), group.where(1), most=2))
    assert seen(answers[group.where(0)]) == ([0, 1], [Acquired(0, 1, 1)])
    assert seen(answers[group.where(1)]) == ([], [])
    assert len(reads) == 1
    # That the first record is gone was found at the look.
    answers = read(reader(group, group.where(1)))
    assert seen(answers[group.where(1)]) == ([1], [Acquired(1, 1, 1)])


def test_a_read_that_waits_for_the_disk_goes_on_where_it_was(
    group: OneShareGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index in (0, 1):
        group.append(b"a", b"b", index=index)
    reads = list[int]()

    def cold_at_second(records: bytes) -> Iterator[RecordBatch]:
        if records:  # the end of the first partition is read, too
            reads.append(len(records))
        if len(reads) == 2:
            reads.append(0)
            with open(os.devnull) as file:
                raise NotCached(file.fileno(), 0, 1)
        return iterate_batches(records)

    monkeypatch.setattr(share_reader, "iterate_batches", cold_at_second)
    asked = reader(group, group.where(0), group.where(1), most=3, limited=True)
    answers: dict[TopicPartitionId, Fetched] = {}
    waits = [wait for wait in asked.reading(answers) if wait is not None]
    assert len(waits) == 1
    assert seen(answers[group.where(0)]) == ([0], [Acquired(0, 1, 1)])
    assert seen(answers[group.where(1)]) == ([0], [Acquired(0, 0, 1)])


def test_others_may_take_what_is_not_read_yet(group: OneShareGroup) -> None:
    """Between two partitions one is dropped, another gets another leader, one is read by others."""
    for index in range(3):
        group.append(b"a", index=index)
    asked = reader(group, *map(group.where, range(3)))
    answers: dict[TopicPartitionId, Fetched] = {}
    steps = asked.reading(answers)
    while group.where(0) not in answers:
        next(steps)
    group.partitions.drop(group.key(1))
    other = read(reader(group, group.where(2), member_id="other"))
    assert seen(other[group.where(2)])[1] == [Acquired(0, 0, 1)]
    at_once(steps)
    assert group.where(1) not in answers
    assert seen(answers[group.where(2)]) == ([], [])


def test_a_partition_that_is_dropped_while_it_is_looked_at_is_enough(group: OneShareGroup) -> None:
    asked = reader(group, *map(group.where, range(3)))
    steps = asked.looking()
    next(steps)
    group.partitions.drop(group.key(1))
    assert at_once(steps)
