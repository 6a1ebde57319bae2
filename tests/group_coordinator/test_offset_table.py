"""Committed offsets: deleted topics, transactions, restarts."""

from __future__ import annotations

import random
import uuid
from typing import Any

from conformance.soak.speed import slowness
from kafkalite.group_coordinator.offset_api import fetch_topic
from kafkalite.group_coordinator.offset_table import (
    NO_PRODUCER_ID,
    NO_TOPIC_ID,
    CommittedOffset,
    OffsetTable,
)
from kafkalite.server.watchdog import LONG_SECONDS
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.group_coordinator.transactional_offsets import txn_commit
from tests.least_time import least_seconds


def end_transaction(world, producer_id, *, committed):
    partition = world.coordinator.partition_for("group")
    world.log.end_transaction(partition, producer_id, committed)
    world.coordinator.transaction_ended(partition, producer_id, committed=committed)


async def test_offsets_of_a_deleted_topic_are_not_those_of_its_successor(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    request = OffsetFetchRequestTopics(name="orders", topic_id=uuid.uuid4(), partition_indexes=[0])
    response = await world.coordinator.offset_fetch(
        world.member().context,
        OffsetFetchRequestGroup(group_id="group", topics=[request]),
        require_stable=False,
    )
    assert response.topics[0].partitions[0].committed_offset == -1


async def test_offsets_go_with_their_topic(autojump_clock, world):
    await world.commit(("orders", 0, 7), ("payments", 0, 9))
    topic_id = world.topics.topic_id("orders")
    drained(world.coordinator.topics_deleted({"orders": topic_id}))
    assert await world.committed("orders", 0) == -1
    assert await world.committed("payments", 0) == 9
    await world.start()
    assert await world.committed("orders", 0) == -1


async def test_very_many_offsets_go_a_few_in_each_step(autojump_clock, world):
    count = 1000
    world.set_partitions("orders", count)
    await world.commit(*(("orders", partition, 7) for partition in range(count)))
    await world.commit(("orders", 0, 7), ("payments", 0, 9), group_id="another")
    before = len(world.log.batches)
    steps = world.coordinator.topics_deleted({"orders": world.topics.topic_id("orders")})
    assert sum(1 for _ in steps) > count / 256
    written = [len(batch) for batch in world.log.batches[before:]]
    assert sum(written) == count + 1
    assert max(written) <= 256
    assert {await world.committed("orders", partition) for partition in range(count)} == {-1}
    assert await world.committed("orders", 0, "another") == -1
    assert await world.committed("payments", 0, "another") == 9


async def test_offsets_that_others_forget_meanwhile_are_gone_too(autojump_clock, world):
    world.set_partitions("orders", 600)
    await world.commit(*(("orders", partition, 7) for partition in range(600)))
    steps = world.coordinator.topics_deleted({"orders": world.topics.topic_id("orders")})
    next(steps)
    world.coordinator.resigned(world.coordinator.partition_for("group"))
    drained(steps)
    await world.start()
    left = {await world.committed("orders", partition) for partition in range(600)}
    assert left <= {-1, 7}, "they expire"


async def test_a_topic_goes_although_its_offsets_cannot(autojump_clock, world):
    groups = [f"group-{number}" for number in range(8)]  # in all partitions
    for group_id in groups:
        await world.commit(("orders", 0, 7), group_id=group_id)
    world.log.failure = ErrorCode.NOT_COORDINATOR
    drained(world.coordinator.topics_deleted({"orders": world.topics.topic_id("orders")}))
    world.log.failure = None
    assert [await world.committed("orders", 0, group_id) for group_id in groups] == [7] * 8


async def test_an_offset_in_a_transaction_is_seen_when_that_commits(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    assert await txn_commit(world, 1, "orders", 0, 20) == ErrorCode.NONE
    assert await world.committed("orders", 0) == 7
    unstable = await world.fetch_one("orders", 0, require_stable=True)
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert unstable.committed_offset == -1
    end_transaction(world, 1, committed=True)
    assert (await world.fetch_one("orders", 0, require_stable=True)).committed_offset == 20


async def test_an_offset_in_an_aborted_transaction_is_never_seen(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    await txn_commit(world, 1, "orders", 0, 20)
    end_transaction(world, 1, committed=False)
    assert (await world.fetch_one("orders", 0, require_stable=True)).committed_offset == 7


async def test_offsets_of_transactions_are_told_when_they_count(autojump_clock, world):
    told = []
    world.coordinator.happenings.committed = lambda *committed: told.append(committed)
    await txn_commit(world, 1, "orders", 0, 20)
    await txn_commit(world, 1, "orders", 1, 20)
    await txn_commit(world, 2, "orders", 2, 20)
    assert told == []
    end_transaction(world, 1, committed=True)
    end_transaction(world, 2, committed=False)
    assert told == [("group", 2)]


async def test_a_later_commit_outlives_an_earlier_transaction(autojump_clock, world):
    await txn_commit(world, 1, "orders", 0, 20)
    await world.commit(("orders", 0, 7))
    end_transaction(world, 1, committed=True)
    assert await world.committed("orders", 0) == 7


async def test_open_transactions_survive_a_restart(autojump_clock, world):
    await txn_commit(world, 1, "orders", 0, 20)
    await txn_commit(world, 2, "orders", 1, 30)
    end_transaction(world, 1, committed=True)
    await world.start()
    assert await world.committed("orders", 0) == 20
    assert await world.committed("orders", 1) == -1
    unstable = await world.fetch_one("orders", 1, require_stable=True)
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    end_transaction(world, 2, committed=True)
    assert await world.committed("orders", 1) == 30


def test_the_table_agrees_with_a_list_of_what_was_committed():
    """Each producer's pending offsets are found by group and topic, and go with its end."""
    luck = random.Random(7)
    groups, topics, partitions = ("g", "h"), ("orders", "payments"), range(3)
    table = OffsetTable()
    counting: dict[tuple[str, str, int], int] = {}
    pending: dict[tuple[int, str, str, int], int] = {}
    for step in range(3000):
        key = luck.choice(groups), luck.choice(topics), luck.choice(partitions)
        producer = luck.randrange(-1, 4)
        match luck.randrange(4):
            case 0 if producer != NO_PRODUCER_ID:
                is_committed = luck.random() < 0.5
                table.end_transaction(producer, committed=is_committed)
                for each in [each for each in pending if each[0] == producer]:
                    at = pending.pop(each)
                    if is_committed:
                        counting[each[1:]] = max(at, counting.get(each[1:], -1))
            case 1:
                table.apply(*key, None)
                counting.pop(key, None)
                for each in [each for each in pending if each[1:] == key]:
                    del pending[each]
            case _:
                table.apply(*key, CommittedOffset(step, -1, "", 0, record_offset=step), producer)
                if producer == NO_PRODUCER_ID:
                    counting[key] = step
                else:
                    pending[producer, *key] = step
        for group in groups:
            there = {each for each in counting if each[0] == group}
            waiting = {each[1:] for each in pending if each[1] == group}
            assert {
                (group, topic, partition)
                for topic, partitions in table.partitions_of(group).items()
                for partition in partitions
            } == there | waiting
            assert table.has_any(group) == bool(there | waiting)
            for topic in topics:
                waits = {each[2] for each in waiting if each[1] == topic}
                assert set(table.pending_in(group, topic)) == waits
        assert all(table.get(*each).offset == at for each, at in counting.items())


def test_many_open_transactions_do_not_make_a_stable_fetch_long():
    table = OffsetTable()
    for producer in range(1000):
        table.apply("group", "orders", producer, CommittedOffset(1, -1, "", 0), producer)

    def fetch() -> list[Any]:
        pending = table.pending_in("group", "orders")
        return fetch_topic(
            table.of_group("group"), pending, ("orders", NO_TOPIC_ID, [*range(2000)])
        )

    assert least_seconds(fetch) < LONG_SECONDS * slowness()
    unstable, none = ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.NONE
    assert [row[4] for row in fetch()] == [unstable] * 1000 + [none] * 1000
