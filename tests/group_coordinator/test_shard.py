"""A shard: the groups and offsets that the records of one partition add up to."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.offset_table import NO_TOPIC_ID
from kafkalite.group_coordinator.shard import Shard
from kafkalite.group_coordinator.state_log import CommitEncoder, ReplayedMarker, ReplayedRecord

NOW_MS = 1_700_000_000_000
NO_PRODUCER = -1


def commit(offset: int, *, at: int, producer_id: int = NO_PRODUCER) -> ReplayedRecord:
    encoder = CommitEncoder("group", "words", NO_TOPIC_ID, NOW_MS, -1)
    key, value = encoder.record(0, offset, -1, "")
    return ReplayedRecord(at, key, value, producer_id)


def tombstone(at: int) -> ReplayedRecord:
    key, _ = state_log.offset_tombstone("group", "words", 0)
    return ReplayedRecord(at, key, None, NO_PRODUCER)


def committed_in(shard: Shard) -> int | None:
    found = shard.offsets.get("group", "words", 0)
    return None if found is None else found.offset


def load(shard: Shard, entries: Iterable[ReplayedRecord | ReplayedMarker]) -> None:
    for entry in entries:
        shard.apply(entry, NOW_MS)


def test_an_offset_without_members_makes_a_group() -> None:
    shard = Shard(0)
    load(shard, [commit(1, at=0), commit(7, at=1)])
    assert isinstance(shard.groups["group"], ClassicGroup)
    assert shard.groups["group"].is_empty
    assert committed_in(shard) == 7


def test_a_tombstone_removes_an_offset() -> None:
    shard = Shard(0)
    load(shard, [commit(7, at=0), tombstone(1)])
    assert committed_in(shard) is None


def test_offsets_of_a_transaction_count_with_its_marker() -> None:
    for is_committed, expected in ((True, 7), (False, 1)):
        shard = Shard(0)
        records = [commit(1, at=0), commit(7, at=1, producer_id=5)]
        load(shard, records)
        assert committed_in(shard) == 1
        assert set(shard.offsets.pending_in("group", "words")) == {0}
        load(shard, [ReplayedMarker(5, is_committed)])
        assert committed_in(shard) == expected


def test_records_of_unknown_kinds_change_nothing() -> None:
    shard = Shard(0)
    load(shard, [ReplayedRecord(0, b"\x7f\xff", b"", NO_PRODUCER)])
    assert shard.groups == {}


def test_a_group_is_seen_once_its_first_record_is_written() -> None:
    shard = Shard(0)
    shard.groups["group"] = ClassicGroup("group", now_ms=NOW_MS, made_at=5)
    assert shard.seen("group", 5) is None
    assert shard.seen("group", 6) is shard.groups["group"]
    assert shard.seen("other", 6) is None
