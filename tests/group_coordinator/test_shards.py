"""The shards that are loaded, and the groups that belong to them."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.shard import Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.group_coordinator.in_memory import MemoryLog

HASH = 98_629_247  # of "group", as Java has it


def loaded(log: MemoryLog) -> Shards:
    shards = Shards(log)
    shards.loaded = {index: Shard(index) for index in range(log.partition_count)}
    return shards


@pytest.mark.parametrize("count", [1, 4, 50])
def test_a_group_belongs_to_the_partition_of_its_hash(count: int) -> None:
    shards = loaded(MemoryLog(partition_count=count))
    assert shards.partition_for("group") == HASH % count
    assert shards.shard_of("group", 1) is shards.loaded[HASH % count]


def test_without_the_topic_there_is_no_coordinator() -> None:
    shards = Shards(MemoryLog(partition_count=0))
    with pytest.raises(KafkaError) as unavailable:
        shards.partition_for("group")
    assert unavailable.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(KafkaError) as elsewhere:
        shards.shard_of("group", 1)
    assert elsewhere.value.code is ErrorCode.NOT_COORDINATOR


def test_only_the_leader_of_the_partition_coordinates() -> None:
    shards = loaded(MemoryLog(leaders={HASH % 4: 2}))
    with pytest.raises(KafkaError) as refused:
        shards.shard_of("group", 1)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
    assert shards.shards_of(2) == [shards.shard_of("group", 2)]
    assert len(shards.shards_of(1)) == 3


def test_a_partition_that_is_not_loaded_yet_is_not_coordinated() -> None:
    with pytest.raises(KafkaError) as refused:
        Shards(MemoryLog()).shard_of("group", 1)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR


def test_those_who_only_look_see_what_is_written() -> None:
    log = MemoryLog()
    shards = loaded(log)
    shards.shard_of("group", 1).groups["group"] = ClassicGroup("group", now_ms=0, made_at=0)
    assert shards.seen("group", 1) is None
    assert list(shards.all_seen(1)) == []
    log.append(HASH % 4, [(b"key", b"value")])
    seen = shards.seen("group", 1)
    assert seen is not None
    assert list(shards.all_seen(1)) == [seen]
    assert list(shards.all_seen(2)) == []
