"""Commits are checked partition by partition and written as one batch."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.transactional_offsets import txn_commit


async def test_too_much_metadata_is_refused_for_that_partition(autojump_clock, world):
    long = {"committed_metadata": "x" * 4097}
    assert await world.commit(("orders", 0, 7), partition_fields=long) == [
        ErrorCode.OFFSET_METADATA_TOO_LARGE
    ]
    just = {"committed_metadata": "x" * 4096}
    assert await world.commit(("orders", 0, 7), partition_fields=just) == [0]


async def test_what_does_not_exist_cannot_be_committed(autojump_clock, world):
    assert await world.commit(("orders", 0, 7), ("orders", 4, 7), ("nothing", 0, 7)) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


async def test_a_request_is_one_batch(autojump_clock, world):
    await world.commit(("orders", 0, 7), ("orders", 1, 8), ("payments", 1, 9))
    assert [len(batch) for batch in world.log.batches] == [3]


async def test_a_topic_s_id_is_kept_unless_in_a_transaction(autojump_clock, world):
    """Kafka writes none there."""
    await world.commit(("orders", 0, 7))
    await txn_commit(world, 1, "orders", 0, 8)
    (_, plain), (_, transactional) = (batch[0] for batch in world.log.batches)
    topic_id = world.topics.topic_id("orders").bytes
    assert topic_id in plain
    assert topic_id not in transactional


async def test_a_commit_that_cannot_be_written_has_not_happened(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await world.commit(("orders", 0, 8)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert await world.committed("orders", 0) == 7
