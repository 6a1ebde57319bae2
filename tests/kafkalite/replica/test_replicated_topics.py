"""Topics under controllers: logs come and go as replicas are given to this broker and taken."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.log.files import Files
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
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


def logs(world: Replicated) -> list[str]:
    """The logs there are; the files of those that were deleted go later."""
    return [f"{log.topic}-{log.partition}" for log in world.logs.manager.logs]


async def test_a_replica_here_has_a_log(world: Replicated) -> None:
    partition = world.create(OTHER, OTHER, ME)
    assert logs(world) == ["t-0"]
    assert world.topics.here() == [partition]
    assert world.replicas.get(TOPIC_ID, 0) is partition.replica


async def test_one_elsewhere_has_none(world: Replicated) -> None:
    world.create(OTHER, OTHER, THIRD)
    assert logs(world) == []
    assert list(world.topics.here()) == []
    assert list(world.replicas) == []


async def test_a_replica_that_is_given_and_taken(world: Replicated) -> None:
    partition = world.create(OTHER, OTHER, THIRD)
    world.change(replicas=[OTHER, ME], isr=[OTHER])
    assert logs(world) == ["t-0"]
    assert partition.replica is not None
    world.change(replicas=[OTHER], isr=[OTHER])
    assert (partition.replica, logs(world)) == (None, [])
    assert list(world.replicas) == []
    assert partition.replicas == [OTHER]


async def test_a_topic_that_is_deleted(world: Replicated) -> None:
    partition = world.create(ME, ME)
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert partition.is_deleted
    assert world.topics.get("t") is None
    assert world.topics.by_id(TOPIC_ID) is None
    assert (logs(world), list(world.replicas)) == ([], [])


async def test_roles_change_with_the_leader(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    assert partition.replica is not None
    assert partition.replica.leading is not None
    world.change(leader=OTHER)
    assert partition.replica.leading is None
    assert partition.replica.is_following
    assert (partition.leader_id, partition.leader_epoch) == (OTHER, 1)


async def test_what_the_log_is_configured_for_follows_the_metadata(world: Replicated) -> None:
    partition = world.create(ME, ME)
    elsewhere = world.create(OTHER, OTHER, name="u", topic_id=UUID(int=8))
    before = elsewhere.log.config
    for name in "tu":
        world.commit(
            ConfigRecord(
                resource_type=2, resource_name=name, name="max.message.bytes", value="1234"
            )
        )
    assert partition.log.config.max_message_bytes == 1234
    assert elsewhere.log.config is before
    partition.append(records(b"a"))
    with pytest.raises(KafkaError) as refused:
        partition.append(records(bytes(2000)))
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


async def test_a_refusal_of_the_controllers_is_what_comes_of_a_topic(world: Replicated) -> None:
    world.refusal = KafkaError(ErrorCode.INVALID_CONFIG, "no such config")
    with pytest.raises(KafkaError) as refused:
        world.topics.create(NewTopic("store", retry_seconds=10))
    assert refused.value is world.refusal
    assert world.asked == ["store"]


async def test_topics_are_asked_of_the_controllers(world: Replicated) -> None:
    with pytest.raises(KafkaError) as refused:
        world.topics.create(NewTopic("new"))
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as refused:
        world.topics.create_internal("__consumer_offsets")
    assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.asked == ["new", "__consumer_offsets"]
    world.create(OTHER, OTHER, name="__consumer_offsets")
    assert world.topics.create_internal("__consumer_offsets").name == "__consumer_offsets"
    assert len(world.asked) == 2


async def test_a_directory_that_was_not_assigned_is_told(world: Replicated) -> None:
    world.create(OTHER, OTHER, THIRD)
    assert world.told == []
    world.change(replicas=[OTHER, ME], isr=[OTHER], directories=[UUID(int=0), UUID(int=0)])
    assert world.told == [(TOPIC_ID, 0, world.logs.directory_ids[0])]


async def test_a_log_that_a_failing_directory_cannot_take_lies_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with replicated(first, second) as world:
        make = Files.make_directory

        def making(files: Files, path: Path) -> None:
            if first in path.parents:
                raise OSError(errno.EIO, "Input/output error")
            make(files, path)

        monkeypatch.setattr(Files, "make_directory", making)
        world.create(OTHER, OTHER, THIRD)
        world.change(replicas=[OTHER, ME], isr=[OTHER], directories=[UUID(int=0), UUID(int=0)])
        assert world.partition().log.directory.parent == second
        assert world.told == [(TOPIC_ID, 0, world.logs.directory_ids[1])]


async def test_eligible_leaders_that_are_cleared_change_their_partitions(
    world: Replicated,
) -> None:
    """The leader proposes with the partition epoch that the controllers count to (KIP-966)."""
    partition = world.create(ME, ME, OTHER)
    world.create(ME, ME, OTHER, name="u", topic_id=UUID(int=8))
    assert partition.replica is not None
    world.commit(
        PartitionChangeRecord(
            partition_id=0, topic_id=TOPIC_ID, isr=[ME], eligible_leader_replicas=[OTHER]
        ),
        ClearElrRecord(topic_name=""),
        PartitionChangeRecord(partition_id=0, topic_id=UUID(int=8), isr=[ME]),
        ClearElrRecord(topic_name="t"),
    )
    assert partition.replica.leading is not None
    assert partition.replica.leading.in_sync.partition_epoch == 2
    other = world.partition("u").replica
    assert other is not None
    assert other.leading is not None
    assert other.leading.in_sync.partition_epoch == 1


async def test_a_log_begins_again_where_its_disk_was_replaced(tmp_path: Path) -> None:
    """The metadata name the old directory; while another does not work, it may be that one."""
    with replicated(tmp_path) as world:
        gone = [UUID(int=1234), UUID(int=0)]
        world.create(OTHER, OTHER, THIRD)
        world.logs.manager.failed[tmp_path / "broken"] = OSError("no such disk")
        world.change(replicas=[ME, OTHER], isr=[OTHER], directories=gone)
        assert "is not here or does not work" in (world.partition().log.offline_reason or "")
        world.change(replicas=[OTHER], isr=[OTHER], directories=gone[1:])
        world.logs.manager.failed.clear()
        world.change(replicas=[ME, OTHER], isr=[OTHER], directories=gone)
        assert world.partition().log.offline_reason is None
        assert world.told == [(TOPIC_ID, 0, world.logs.directory_ids[0])]


def many_partitions(topic_id: UUID, *, name: str = "many") -> list[object]:
    """A topic of 200 partitions, of which this broker has a replica each."""
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[ME, OTHER],
                isr=[ME, OTHER],
                leader=ME,
                leader_epoch=0,
                partition_epoch=0,
                directories=[UUID(int=0)] * 2,
            )
            for index in range(200)
        ),
    ]


async def test_nobody_waits_for_a_broker_that_is_fenced_with_many_partitions(
    world: Replicated,
) -> None:
    """Nothing else would move the high watermark of a partition that nobody writes to."""
    topic, *partitions = many_partitions(TOPIC_ID)
    for each in partitions:
        assert isinstance(each, PartitionRecord)
        each.replicas = each.isr = [ME, OTHER, THIRD]
        each.directories = [UUID(int=0)] * 3
    world.commit(topic, *partitions)
    leaders = [each.replica.leading for each in world.topics.here() if each.replica]
    for partition, leading in zip(world.topics.here(), leaders, strict=True):
        assert leading is not None
        for follower in (OTHER, THIRD):
            leading.fetched(follower, 0, 0, broker_epoch=10 + follower)
        partition.append(records(b"a"))
        leading.fetched(OTHER, 1, 0, broker_epoch=10 + OTHER)
    assert {each.high_watermark for each in world.topics.here()} == {0}
    shrunk = [
        PartitionChangeRecord(partition_id=each.index, topic_id=TOPIC_ID, isr=[ME, OTHER])
        for each in world.topics.here()
    ]
    fence = BrokerRegistrationChangeRecord(broker_id=THIRD, broker_epoch=10 + THIRD, fenced=1)
    world.commit(*shrunk, fence)
    assert {each.high_watermark for each in world.topics.here()} == {1}


async def test_a_large_topic_is_opened_in_steps_and_seen_whole(world: Replicated) -> None:
    changes = at_once(world.cluster.changes_of(many_partitions(TOPIC_ID), is_snapshot=False))
    seen: list[tuple[int, int]] = []
    for _ in world.topics.taking_in(changes, 100):
        topic = world.topics.get("many")
        seen.append((len(logs(world)), 0 if topic is None else len(topic.partitions)))
    assert len(seen) > 200
    assert {count for _, count in seen} == {0, 200}
    assert all(opened == 200 for opened, count in seen if count)
    assert len(world.topics.here()) == 200
    assert all(each.replica is not None and each.replica.leading for each in world.topics.here())


async def test_at_a_start_a_large_topic_is_opened_in_steps_and_seen_whole(
    world: Replicated,
) -> None:
    world.commit(*many_partitions(TOPIC_ID))
    for partition in world.topics.here():
        assert partition.replica is not None
        world.replicas.remove(partition.replica)
    topics = world.new_topics()
    assert topics.get("many") is None
    seen: list[int] = []
    for _ in topics.opening():
        topic = topics.get("many")
        seen.append(0 if topic is None else len(topic.partitions))
    assert seen == [0] * 200
    assert len(topics.here()) == 200
    assert all(each.replica is not None and each.replica.leading for each in topics.here())


async def test_a_large_topic_that_is_gone_is_closed_in_steps(world: Replicated) -> None:
    world.commit(*many_partitions(TOPIC_ID))
    open_counts = [
        len(logs(world))
        for _ in world.topics.taking_in([RemoveTopicRecord(topic_id=TOPIC_ID)], 101)
    ]
    assert len(open_counts) > 200
    assert (open_counts[0], logs(world), list(world.replicas)) == (200, [], [])


async def test_a_topic_that_takes_the_name_of_one_that_goes(world: Replicated) -> None:
    """In one change: the older one's logs make way."""
    world.commit(*many_partitions(TOPIC_ID))
    other_id = UUID(int=8)
    world.commit(RemoveTopicRecord(topic_id=TOPIC_ID), *many_partitions(other_id))
    assert len(logs(world)) == 200
    assert [each.topic_id for each in world.topics.here()] == [other_id] * 200
    assert all(each.log.offline_reason is None for each in world.topics.here())


async def test_replicas_are_throttled_as_the_topic_says(world: Replicated) -> None:
    partition = world.create(ME, ME, OTHER)
    leader, follower = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
    for name, value, expected in (
        (leader, f"0:{ME}", (True, False)),
        (follower, "*", (True, True)),
        (leader, f"0:{OTHER},1:{ME}", (False, True)),
        (follower, None, (False, False)),
        (leader, "*", (True, False)),
    ):
        world.change_config(name, value)
        replica = partition.replica
        assert replica is not None
        assert (replica.is_throttled_as_leader, replica.is_throttled_as_follower) == expected
    world.change(replicas=[OTHER], isr=[OTHER])
    world.change(replicas=[OTHER, ME], isr=[OTHER])
    assert partition.replica is not None
    assert partition.replica.is_throttled_as_leader, "a replica that is given later is, too"
