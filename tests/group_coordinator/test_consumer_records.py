"""Consumer groups as they are read back after a restart."""

from __future__ import annotations

import trio

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.consumers import settle


async def test_a_group_goes_on_after_a_restart(autojump_clock, world):
    consumers = [world.consumer(instance_id="one"), world.consumer(regex="pay.*", assignor="range")]
    await settle(*consumers)
    before = [consumer.partitions for consumer in consumers]
    group = world.group()
    await world.start()
    loaded = world.group()
    assert (loaded.epoch, loaded.assignment_epoch) == (group.epoch, group.assignment_epoch)
    assert loaded.members == group.members
    assert loaded.targets == group.targets
    assert loaded.expressions == group.expressions
    await settle(*consumers)
    assert [consumer.partitions for consumer in consumers] == before
    assert loaded.epoch == group.epoch


async def test_nobody_gets_what_is_not_free_after_a_restart(autojump_clock, world):
    first, second = world.consumer(), world.consumer()
    await first.beat()
    await second.beat()
    await world.start()
    await second.beat()
    assert second.partitions == set()
    await settle(first, second)
    assert len(first.partitions) == len(second.partitions) == 2


async def test_sessions_run_on_after_a_restart(autojump_clock, world):
    await world.consumer().beat()
    await world.start()
    await trio.sleep(45.1)
    assert await world.consumer_state() == "Empty"


async def test_what_could_not_be_written_has_not_happened(autojump_clock, world):
    first, second = world.consumer(), world.consumer()
    await first.beat()
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await second.beat() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.failure = None
    assert list(world.group().members) == [first.member_id]
    assert world.group().epoch == 2
    await settle(first, second)
    assert len(second.partitions) == 2


async def test_a_deleted_group_stays_deleted(autojump_clock, world):
    consumer = world.consumer(regex="pay.*")
    await consumer.beat()
    context = world.member().context
    administration = world.coordinator.administration
    refused = drained(administration.deleting_group(context, "group"))
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    await consumer.leave()
    deleted = drained(administration.deleting_group(context, "group"))
    assert deleted.error_code == ErrorCode.NONE
    await world.start()
    assert await world.consumer_state() == ""
