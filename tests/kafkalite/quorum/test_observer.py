"""An observer publishes what is committed, in order and once, whatever the quorum goes through."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest

from kafkalite.cluster.record_codec import encode_record
from kafkalite.peers.link import Address
from kafkalite.quorum.observer import Observer, Refused, Step
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from kafkalite.wire.messages.fetch_snapshot import (
    FetchSnapshotResponse,
    PartitionSnapshot,
    TopicSnapshot,
)
from kafkalite.wire.messages.fetch_snapshot import LeaderIdAndEpoch as SnapshotLeader
from kafkalite.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from kafkalite.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from kafkalite.wire.messages.stored.end_transaction_record import EndTransactionRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.record_batch import Record, build_batch

LEADER = 3000


def feature(level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="f", feature_level=level)


def batch(offset: int, *records: object, epoch: int = 1) -> bytes:
    stored = [Record(timestamp=0, value=encode_record(each)) for each in records]
    return build_batch(stored, base_offset=offset, partition_leader_epoch=epoch)


def answer(
    records: bytes = b"", *, high_watermark: int = 0, epoch: int = 1, **more: Any
) -> FetchResponse:
    data = PartitionData(
        partition_index=0,
        high_watermark=high_watermark,
        current_leader=LeaderIdAndEpoch(leader_id=LEADER, leader_epoch=epoch),
        records=records,
        **more,
    )
    return FetchResponse(
        responses=[FetchableTopicResponse(partitions=[data])],
        node_endpoints=[NodeEndpoint(node_id=LEADER, host="c", port=1)],
    )


def observer() -> Observer:
    made = Observer(1, "cluster", UUID(int=7))
    assert made.fetched(answer()) is Step.AGAIN
    return made


def levels(made: Observer) -> list[tuple[int, list[int]]]:
    return [
        (each.offset, [r.feature_level for r in each.records if isinstance(r, FeatureLevelRecord)])
        for each in made.committed()
        if each is not None
    ]


def test_an_empty_one_says_epoch_zero() -> None:
    wanted = Observer(1, "cluster", UUID(int=7)).fetch().topics[0].partitions[0]
    assert (wanted.fetch_offset, wanted.last_fetched_epoch, wanted.current_leader_epoch) == (
        0,
        0,
        0,
    )
    assert wanted.high_watermark == -1


def test_any_controller_says_who_leads() -> None:
    made = Observer(1, "cluster", UUID(int=7))
    refused = answer(epoch=4, error_code=ErrorCode.FENCED_LEADER_EPOCH)
    assert made.fetched(refused) is Step.ELSEWHERE
    assert made.leader_address == Address("c", 1)
    assert made.fetch().topics[0].partitions[0].current_leader_epoch == 4
    assert made.fetched(answer(epoch=3, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)) is Step.LATER
    assert made.leader_epoch == 4


def test_another_cluster_is_refused() -> None:
    with pytest.raises(Refused, match="not of cluster cluster"):
        observer().fetched(FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))


def test_what_is_not_committed_waits() -> None:
    made = observer()
    made.fetched(answer(batch(0, feature(1)) + batch(1, feature(2)), high_watermark=1))
    assert levels(made) == [(0, [1])]
    assert made.has_caught_up
    assert made.fetch().topics[0].partitions[0].high_watermark == 1
    made.fetched(answer(high_watermark=2))
    assert levels(made) == [(1, [2])]
    assert levels(made) == []


def test_what_is_truncated_was_never_seen() -> None:
    made = observer()
    made.fetched(answer(batch(0, feature(1)) + batch(1, feature(2)), high_watermark=1))
    assert levels(made) == [(0, [1])]
    made.fetched(answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1)))
    made.fetched(answer(batch(1, feature(3), epoch=2), high_watermark=2, epoch=2))
    assert levels(made) == [(1, [3])]


def test_a_committed_offset_that_is_gone_starts_all_over() -> None:
    made = observer()
    made.fetched(answer(batch(0, feature(1)) + batch(1, feature(2)), high_watermark=2))
    levels(made)
    with pytest.raises(Refused, match="lost metadata that they had committed, offsets 1 to 1:"):
        made.fetched(answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1)))
    assert made.fetch().topics[0].partitions[0].fetch_offset == 0


@pytest.mark.parametrize(
    ("end", "expected"),
    [(EndTransactionRecord, [[1], [2, 3]]), (AbortTransactionRecord, [[1], []])],
)
def test_a_transaction_counts_with_its_end(end: type, expected: list[list[int]]) -> None:
    made = observer()
    records = [
        batch(0, feature(1)),
        batch(1, BeginTransactionRecord(), feature(2)),
        batch(3, feature(3)),
    ]
    made.fetched(answer(b"".join(records), high_watermark=4))
    assert levels(made) == [(0, [1])]
    made.fetched(answer(batch(4, end()), high_watermark=5))
    assert levels(made) == [(4, expected[1])]


def test_a_snapshot_comes_in_slices_that_end_anywhere() -> None:
    whole = batch(0, feature(1)) + batch(1, feature(2))
    made = observer()
    wanted = SnapshotId(end_offset=10, epoch=3)
    assert made.fetched(answer(snapshot_id=wanted)) is Step.SNAPSHOT
    random, step = Random(1), Step.SNAPSHOT
    while step is Step.SNAPSHOT:
        position = made.fetch_snapshot().topics[0].partitions[0].position
        size = random.randint(1, 60)
        part = PartitionSnapshot(
            size=len(whole),
            position=position,
            unaligned_records=whole[position : position + size],
            current_leader=SnapshotLeader(leader_id=LEADER, leader_epoch=1),
        )
        topic = TopicSnapshot(partitions=[part])
        step = made.snapshot_fetched(FetchSnapshotResponse(topics=[topic]))
    assert step is Step.AGAIN
    (committed,) = filter(None, made.committed())
    assert committed.is_snapshot
    assert committed.offset == 9
    assert [each.feature_level for each in committed.records] == [1, 2]
    asked = made.fetch().topics[0].partitions[0]
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (10, 3)


@pytest.mark.parametrize("came", [0, 60, 80])
def test_a_part_of_a_snapshot_never_stands_for_the_whole(came: int) -> None:
    """Its controller is gone, and the next one still has the records themselves."""
    whole = batch(0, feature(1)) + batch(1, feature(2))
    made = observer()
    made.fetched(answer(batch(0, feature(7)), high_watermark=1))
    assert levels(made) == [(0, [7])]
    assert made.fetched(answer(snapshot_id=SnapshotId(end_offset=10, epoch=1))) is Step.SNAPSHOT
    if came:
        part = PartitionSnapshot(
            size=len(whole),
            unaligned_records=whole[:came],
            current_leader=SnapshotLeader(leader_id=LEADER, leader_epoch=1),
        )
        topic = TopicSnapshot(partitions=[part])
        assert made.snapshot_fetched(FetchSnapshotResponse(topics=[topic])) is Step.SNAPSHOT
    made.lost_leader()
    assert made.fetched(answer(batch(1, feature(8)), high_watermark=2, epoch=2)) is Step.AGAIN
    (committed,) = filter(None, made.committed())
    assert not committed.is_snapshot
    assert (committed.offset, len(committed.records)) == (1, 1)


def test_a_snapshot_that_is_gone_is_asked_about_again() -> None:
    made = observer()
    made.fetched(answer(snapshot_id=SnapshotId(end_offset=10, epoch=3)))
    part = PartitionSnapshot(
        error_code=ErrorCode.SNAPSHOT_NOT_FOUND,
        current_leader=SnapshotLeader(leader_id=LEADER, leader_epoch=1),
    )
    gone = FetchSnapshotResponse(topics=[TopicSnapshot(partitions=[part])])
    assert made.snapshot_fetched(gone) is Step.LATER
    assert made.wanted_snapshot is None
