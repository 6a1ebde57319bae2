"""A follower's Fetch reads beyond the high watermark, and moves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.log.open_files import FileSlice
from kafkalite.replica.fetch_target import FetchTarget
from kafkalite.replica.follower_reader import FollowerReader
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.fetch import FetchRequest
from kafkalite.wire.record_batch import iterate_batches
from kafkalite.wire.rows import rows_of
from tests.kafkalite.replica.replicated import (
    ME,
    OTHER,
    THIRD,
    TOPIC_ID,
    Replicated,
    records,
    replicated,
)


@pytest.fixture
async def world(tmp_path: Path) -> Iterator[Replicated]:
    with replicated(tmp_path) as made:
        yield made


def reader(
    world: Replicated,
    offset: int,
    *,
    epoch: int = 0,
    last_epoch: int = -1,
    min_bytes: int = 1,
    replica_id: int = OTHER,
    broker_epoch: int | None = None,
) -> FollowerReader:
    wanted: Any = (0, epoch, offset, last_epoch, 0, 1 << 20, NO_UUID, -1)
    context: Any = SimpleNamespace(node_id=ME, may_read=None, api_version=17)
    made = FollowerReader(
        world.cluster.config,
        world.cluster,
        world.topics,
        context,
        rows_of(FetchRequest(min_bytes=min_bytes, max_bytes=1 << 20)),
        [FetchTarget("", TOPIC_ID, 0, wanted)],
    )
    made.asked_by(replica_id, 10 + replica_id if broker_epoch is None else broker_epoch)
    return made


def read(made: FollowerReader, **settings: bool) -> tuple[int, int, tuple[int, int], list[int]]:
    """The error code, the high watermark, where histories part, and the batches' offsets."""
    ((_, row),) = made.read(**settings)
    data = row[10]
    if isinstance(data, FileSlice):
        with data:
            data = data.read()
    return row[1], row[2], row[5], [batch.base_offset for batch in iterate_batches(data or b"")]


NOWHERE = (-1, -1)


async def test_it_reads_beyond_the_high_watermark_and_moves_it(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a", b"b"))
    assert read(reader(world, 0)) == (0, 0, NOWHERE, [0])
    assert partition.high_watermark == 0, "it has nothing yet"
    assert read(reader(world, 2)) == (0, 0, NOWHERE, [])
    assert partition.high_watermark == 2


async def test_what_it_asked_for_counts_once(world: Replicated) -> None:
    """A request that was parked says nothing new when it is read again."""
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a"))
    read(reader(world, 1), waited=True)
    assert partition.high_watermark == 0


async def test_a_history_that_parts_is_told_at_once(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a"))
    world.change(leader=ME)
    asked = reader(world, 5, epoch=1, last_epoch=0)
    assert read(asked)[2:] == ((0, 1), [])
    assert asked.must_respond


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"epoch": 1}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"replica_id": THIRD}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"broker_epoch": 3}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ({"offset": 9}, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
async def test_what_is_refused(
    world: Replicated, settings: dict[str, Any], code: ErrorCode
) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a"))
    made = reader(world, **({"offset": 0} | settings))
    assert read(made)[0] == code
    assert partition.high_watermark == 0


async def test_who_does_not_lead_says_so(world: Replicated) -> None:
    world.create(OTHER, OTHER, ME)
    assert read(reader(world, 0))[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_partition_elsewhere_or_gone(world: Replicated) -> None:
    assert read(reader(world, 0))[0] == ErrorCode.UNKNOWN_TOPIC_ID
    world.create(OTHER, OTHER, THIRD)
    assert read(reader(world, 0))[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_it_waits_for_as_much_as_it_wants(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    size = len(records(b"a"))
    asked = reader(world, 0, min_bytes=2 * size)
    read(asked)
    assert not asked.has_enough()
    partition.append(records(b"a"))
    assert not asked.has_enough()
    partition.append(records(b"a"))
    assert asked.has_enough()
    assert asked.watched == [partition.watchers]


async def test_a_change_of_leader_ends_the_wait(world: Replicated) -> None:
    world.create(ME, ME, OTHER)
    asked = reader(world, 0)
    read(asked)
    assert not asked.has_enough()
    world.change(leader=OTHER)
    assert asked.has_enough()


async def test_a_throttled_partition_gives_no_more_than_its_rate(world: Replicated) -> None:
    """Neither at once nor after a wait; what is read and not sent does not count."""
    partition = world.create(ME, ME, OTHER)
    world.change(isr=[ME])
    world.change_config("leader.replication.throttled.replicas", f"0:{ME}")
    world.throttled_rate = 2 * len(records(b"a"))
    for value in (b"a", b"b", b"c"):
        partition.append(records(value))
    assert read(reader(world, 0, min_bytes=1 << 20))[3] == [0, 1, 2], "too little to be sent"
    assert read(reader(world, 0))[3] == [0, 1, 2]
    asked = reader(world, 0)
    assert read(asked) == (0, 0, NOWHERE, [])
    assert not asked.must_respond
    assert not asked.has_enough()
    assert read(asked, waited=True)[3] == []
    world.change_config("leader.replication.throttled.replicas", "0:9")
    assert asked.has_enough()
