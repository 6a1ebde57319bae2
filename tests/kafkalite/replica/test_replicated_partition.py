"""A partition of several processes: what moves its high watermark, and who coordinates by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from tests.kafkalite.replica.replicated import (
    ME,
    OTHER,
    THIRD,
    Replicated,
    records,
    replicated,
)


@pytest.fixture
async def world(tmp_path: Path) -> Iterator[Replicated]:
    with replicated(tmp_path) as made:
        yield made


async def test_the_followers_move_the_high_watermark(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a", b"b"))
    assert (partition.log.log_end_offset, partition.high_watermark) == (2, 0)
    assert partition.replica is not None
    assert partition.replica.leading is not None
    partition.replica.leading.fetched(OTHER, 2, 0, 10 + OTHER)
    assert partition.high_watermark == 2


async def test_a_follower_has_the_offsets_that_it_told(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a", b"b", b"c"))
    assert partition.replica is not None
    assert partition.replica.leading is not None
    assert partition.reach(OTHER, 0) is None, "it has not fetched yet"
    partition.replica.leading.fetched(OTHER, 2, 1, 10 + OTHER)
    reached = [partition.reach(OTHER, offset) for offset in range(4)]
    assert [None if each is None else each[0] for each in reached] == [None, 2, 2, None]
    assert partition.reach(THIRD, 2) is None, "no replica"
    world.change(leader=OTHER)
    assert partition.reach(OTHER, 2) is None, "another leads"


async def test_alone_it_moves_by_itself(world: Replicated) -> None:
    partition = world.create(ME, ME)
    partition.append(records(b"a"))
    assert partition.high_watermark == 1


async def test_who_leads_is_asked(world: Replicated) -> None:
    def code(node_id: int = ME, epoch: int = -1) -> ErrorCode | None:
        try:
            world.partition().check_leader(node_id, epoch, leader_only=True)
        except KafkaError as error:
            return error.code
        return None

    world.create(ME, ME, OTHER)
    assert code() is None
    assert code(epoch=1) is ErrorCode.UNKNOWN_LEADER_EPOCH
    world.change(leader=OTHER)
    assert code() is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code(epoch=0) is ErrorCode.FENCED_LEADER_EPOCH


async def test_without_a_replica_it_is_only_known_of(world: Replicated) -> None:
    partition = world.create(OTHER, OTHER, THIRD)
    assert partition.replica is None
    assert (partition.leader_id, partition.replicas) == (OTHER, [OTHER, THIRD])
    with pytest.raises(KafkaError) as refused:
        partition.check_leader(ME, -1, leader_only=False)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("replicas", [[OTHER, THIRD], [OTHER, ME]])
async def test_a_coordinator_writes_nothing_where_others_lead(
    world: Replicated, replicas: list[int]
) -> None:
    partition = world.create(OTHER, *replicas)
    for write in (
        lambda: partition.append(records(b"a")),
        lambda: partition.append_trusted([(b"key", b"value")], 1),
    ):
        with pytest.raises(KafkaError) as refused:
            write()
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


@pytest.mark.parametrize(
    ("name", "leader", "replicas", "coordinator", "here"),
    [
        ("__consumer_offsets", ME, [ME], ME, ME),
        ("__consumer_offsets", OTHER, [OTHER, ME], OTHER, -1),
        ("__consumer_offsets", OTHER, [OTHER], OTHER, -1),
        ("__consumer_offsets", ME, [ME, OTHER], ME, ME),
        ("__transaction_state", ME, [ME], ME, ME),
        ("__share_group_state", ME, [ME], ME, ME),
    ],
)
async def test_who_coordinates(
    world: Replicated,
    name: str,
    leader: int,
    replicas: list[int],
    coordinator: int,
    here: int,
) -> None:
    partition = world.create(leader, *replicas, name=name)
    assert (partition.coordinator_id, partition.coordinated_here) == (coordinator, here)


async def test_the_latest_offset_is_unknown_until_the_followers_have_said_where_they_are(
    world: Replicated,
) -> None:
    partition = world.create(ME, ME, OTHER)
    partition.append(records(b"a"))
    world.change(leader=OTHER)
    assert not partition.is_latest_unknown, "it is the leader's to know"
    world.change(leader=ME)
    assert partition.is_latest_unknown
    assert partition.replica is not None
    assert partition.replica.leading is not None
    partition.replica.leading.fetched(OTHER, 1, 0, 10 + OTHER)
    assert not partition.is_latest_unknown


async def test_in_sync_replicas_are_those_committed(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    assert partition.has_enough_in_sync
    world.change(isr=[ME])
    assert partition.in_sync_replicas == [ME]
    world.commit(
        ConfigRecord(resource_type=2, resource_name="t", name="min.insync.replicas", value="2")
    )
    assert not partition.has_enough_in_sync


async def test_those_who_wait_look_again_after_a_change(world: Replicated) -> None:
    class Waiting:
        woken = 0

        def try_complete(self) -> None:
            self.woken += 1

    waiting = Waiting()
    partition = world.create(ME, ME, OTHER)
    partition.watchers.add(waiting)
    world.change(leader=OTHER)
    assert waiting.woken > 0


async def test_every_epoch_led_here_is_in_the_log(world: Replicated) -> None:
    partition = world.create(ME, ME)
    partition.append(records(b"a"))
    world.change(leader=ME)
    partition.append(records(b"b", b"c"))
    assert partition.leader_epoch == 1
    assert partition.end_offset_for_epoch(0) == (0, 1)
    assert partition.end_offset_for_epoch(1) == (1, 3)
