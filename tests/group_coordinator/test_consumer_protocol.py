"""ConsumerGroupHeartbeat: admission, epochs, reconciliation, timeouts (KIP-848)."""

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import TopicPartitions

NAMES = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["orders"], "topic_partitions": []}


async def settle(*consumers, rounds=6):
    """Heartbeat in turn until nobody's assignment changes any more."""
    for _ in range(rounds):
        for consumer in consumers:
            assert await consumer.beat() == ErrorCode.NONE


def orders(*indexes):
    return {("orders", index) for index in indexes}


# Admission (B67)


async def test_a_member_alone_gets_everything_at_once(autojump_clock, world):
    consumer = world.consumer()
    assert await consumer.beat() == ErrorCode.NONE
    assert consumer.partitions == orders(0, 1, 2, 3)
    assert (consumer.epoch, consumer.interval) == (2, 5.0)
    assert await world.consumer_state() == "Stable"


async def test_version_0_is_given_a_member_id(autojump_clock, world):
    response = await world.consumer(member_id="").send(version=0, **NAMES)
    assert response.error_code == ErrorCode.NONE
    assert len(response.member_id) == 22


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "["}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"subscribed_topic_regex": "(?=x)"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"member_epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_what_is_refused_of_a_first_heartbeat(autojump_clock, world, fields, error_code):
    response = await world.consumer().send(**NAMES | fields)
    assert response.error_code == error_code
    assert response.error_message
    listed = await world.coordinator.list_groups(world.member().context, [], [])
    assert listed == []


async def test_epochs_that_are_not_the_member_s(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    stranger = world.consumer(epoch=2)
    assert (await stranger.send()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await consumer.send(member_epoch=3)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    await consumer.send(subscribed_topic_names=["orders", "payments"])
    old = {"member_epoch": 2}
    assert (await consumer.send(**old)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    owned = [TopicPartitions(topic_id=world.topics.topic_id("orders"), partitions=[0, 1, 2, 3])]
    resent = await consumer.send(**old, topic_partitions=owned)
    assert (resent.error_code, resent.member_epoch) == (ErrorCode.NONE, 3)
    foreign = [TopicPartitions(topic_id=world.topics.topic_id("orders"), partitions=[7])]
    refused = await consumer.send(**old, topic_partitions=foreign)
    assert refused.error_code == ErrorCode.FENCED_MEMBER_EPOCH


async def test_a_group_has_a_greatest_size(autojump_clock, world):
    await world.start(group_consumer_max_size=1)
    first, second = world.consumer(), world.consumer()
    assert await first.beat() == ErrorCode.NONE
    assert await second.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert await first.beat() == ErrorCode.NONE


async def test_the_protocol_may_be_switched_off(autojump_clock, world):
    await world.start(rebalance_protocols=("classic",))
    assert await world.consumer().beat() == ErrorCode.UNSUPPORTED_VERSION
    (described,) = await world.describe_consumer()
    assert described.error_code == ErrorCode.UNSUPPORTED_VERSION
    await world.join_all(world.member())


async def test_another_node_does_not_answer(autojump_clock, world):
    world.log.leaders = dict.fromkeys(range(4), 2)
    assert await world.consumer().beat() == ErrorCode.NOT_COORDINATOR


# Reconciliation (B68)


async def test_a_partition_is_given_only_when_its_owner_has_given_it_up(autojump_clock, world):
    first, second = world.consumer(), world.consumer()
    await first.beat()
    await second.beat()
    assert second.partitions == set()
    assert second.epoch == 3
    first.revokes = False
    response = await first.send(topic_partitions=[])
    kept = {i for t in response.assignment.topic_partitions for i in t.partitions}
    assert len(kept) == 2
    first.epoch = response.member_epoch
    await second.beat()
    lost = set(range(4)) - kept
    assert {index for _, index in second.partitions} == lost


async def test_a_member_keeps_its_epoch_while_it_must_revoke(autojump_clock, world):
    first, second = world.consumer(revokes=False), world.consumer()
    await first.beat()
    first.owned = {world.topics.topic_id("orders"): {0, 1, 2, 3}}
    await second.beat()
    await first.beat()
    assert first.epoch == 2
    await second.beat()
    assert second.partitions == set()
    assert await world.consumer_state() == "Reconciling"
    first.owned = {t: {i for i in p if i not in {0, 1}} for t, p in first.owned.items()}
    member = world.group().members[first.member_id]
    (pending,) = member.pending_revocation.values()
    first.owned = {world.topics.topic_id("orders"): set(range(4)) - set(pending)}
    await first.beat()
    assert first.epoch == 3
    await second.beat()
    assert {index for _, index in second.partitions} == set(pending)
    assert await world.consumer_state() == "Stable"


async def test_assignments_come_on_joining_on_change_and_when_asked_for(autojump_clock, world):
    consumer = world.consumer()
    assert (await consumer.send(**NAMES)).assignment is not None
    consumer.epoch = 2
    assert (await consumer.send()).assignment is None
    assert (await consumer.send(topic_partitions=[])).assignment is None
    full = await consumer.send(**NAMES)
    assert full.assignment is not None
    assert full.member_epoch == 2


async def test_many_members_share_evenly(autojump_clock, world):
    world.set_partitions("orders", 50)
    consumers = [world.consumer() for _ in range(7)]
    await settle(*consumers)
    counts = sorted(len(consumer.partitions) for consumer in consumers)
    assert counts == [7] * 6 + [8]
    assert len(set().union(*(consumer.partitions for consumer in consumers))) == 50


async def test_who_stays_keeps_what_it_has(autojump_clock, world):
    world.set_partitions("orders", 12)
    consumers = [world.consumer() for _ in range(4)]
    await settle(*consumers)
    before = [consumer.partitions for consumer in consumers]
    gone = consumers.pop()
    before.pop()
    await gone.leave()
    await settle(*consumers)
    for consumer, kept in zip(consumers, before, strict=True):
        assert kept < consumer.partitions
        assert len(consumer.partitions) == 4


async def test_the_range_assignor_keeps_numbers_together(autojump_clock, world):
    world.set_partitions("payments", 4)
    topics = ["orders", "payments"]
    consumers = [world.consumer(assignor="range", topics=topics) for _ in range(2)]
    await settle(*consumers)
    for consumer in consumers:
        by_topic = {}
        for topic, index in consumer.partitions:
            by_topic.setdefault(topic, set()).add(index)
        assert by_topic["orders"] == by_topic["payments"]


async def test_the_assignor_that_most_members_name_is_used(autojump_clock, world):
    consumers = [world.consumer(assignor="range") for _ in range(2)]
    consumers.append(world.consumer(assignor="uniform"))
    await settle(*consumers)
    (described,) = await world.describe_consumer()
    assert described.assignor_name == "range"


async def test_subscriptions_may_differ(autojump_clock, world):
    world.set_partitions("payments", 4)
    both = world.consumer(topics=["orders", "payments"])
    one = world.consumer(topics=["payments"])
    await settle(both, one)
    assert one.partitions == {("payments", index) for index in range(4)}
    assert both.partitions == orders(0, 1, 2, 3)


async def test_a_member_may_change_its_mind(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    await consumer.beat(subscribed_topic_names=["payments"])
    assert consumer.partitions == set()
    await consumer.beat()
    assert consumer.partitions == {("payments", 0), ("payments", 1)}


# Topics come and go


async def test_a_topic_that_grows_is_assigned_at_the_next_heartbeat(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    world.set_partitions("orders", 6)
    await consumer.beat()
    assert consumer.partitions == orders(*range(6))


async def test_a_topic_may_come_later_and_go_again(autojump_clock, world):
    consumer = world.consumer(topics=["orders", "later"])
    await consumer.beat()
    world.set_partitions("later", 1)
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("later", 0)}
    world.set_partitions("orders", 0)
    await consumer.beat()
    await consumer.beat()
    assert consumer.partitions == {("later", 0)}


async def test_a_regular_expression_matches_whole_names(autojump_clock, world):
    consumer = world.consumer(topics=None, regex="ord.*|pay")
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3)
    world.set_partitions("ordinary", 1)
    world.set_partitions("disorder", 1)
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("ordinary", 0)}
    assert world.group().is_subscribed_to("ordinary")
    assert not world.group().is_subscribed_to("payments")


async def test_names_and_an_expression_add_up(autojump_clock, world):
    consumer = world.consumer(topics=["payments"], regex="ord.*")
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("payments", 0), ("payments", 1)}
    await consumer.beat(subscribed_topic_regex="")
    await consumer.beat()
    assert consumer.partitions == {("payments", 0), ("payments", 1)}
    assert world.group().expressions == {}


# Timers (B69)


async def test_a_silent_member_is_fenced_after_the_session_timeout(autojump_clock, world):
    silent, lively = world.consumer(), world.consumer()
    await settle(silent, lively)
    for _ in range(8):
        await trio.sleep(5)
        await lively.beat()
    assert len(lively.partitions) == 2
    await trio.sleep(5.1)
    await lively.beat()
    assert lively.partitions == orders(0, 1, 2, 3)
    assert await silent.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_who_does_not_revoke_in_time_is_fenced(autojump_clock, world):
    stubborn = world.consumer(revokes=False, rebalance_timeout_ms=12_000)
    await stubborn.beat()
    stubborn.owned = {world.topics.topic_id("orders"): {0, 1, 2, 3}}
    newcomer = world.consumer()
    await newcomer.beat()
    await stubborn.beat()
    for _ in range(2):
        await trio.sleep(5)
        assert await stubborn.beat() == ErrorCode.NONE
        await newcomer.beat()
    await trio.sleep(2.1)
    assert await stubborn.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    await newcomer.beat()
    assert newcomer.partitions == orders(0, 1, 2, 3)


async def test_changes_that_come_together_are_assigned_once(autojump_clock, world):
    await world.start(group_consumer_assignment_interval_ms=1_000)
    consumers = [world.consumer() for _ in range(4)]
    for consumer in consumers:
        await consumer.beat()
    assert world.group().assignment_epoch == 2
    assert await world.consumer_state() == "Assigning"
    await trio.sleep(1)
    await settle(*consumers)
    assert world.group().assignment_epoch == 5
    assert [len(consumer.partitions) for consumer in consumers] == [1] * 4


async def test_a_group_may_choose_its_own_times(autojump_clock, world):
    world.group_configs["group"] = {
        "consumer.session.timeout.ms": "50000",
        "consumer.heartbeat.interval.ms": "99999",
    }
    consumer = world.consumer()
    await consumer.beat()
    assert consumer.interval == 15.0  # no more than the broker allows
    await trio.sleep(49)
    assert await consumer.beat() == ErrorCode.NONE


# Leaving, static members


async def test_leaving_frees_at_once(autojump_clock, world):
    stays, goes = world.consumer(), world.consumer()
    await settle(stays, goes)
    assert await goes.leave() == ErrorCode.NONE
    await stays.beat()
    assert stays.partitions == orders(0, 1, 2, 3)
    assert await goes.leave() == ErrorCode.UNKNOWN_MEMBER_ID
    await stays.leave()
    assert await world.consumer_state() == "Empty"


async def test_a_static_member_may_leave_for_a_while(autojump_clock, world):
    stays, away = world.consumer(), world.consumer(instance_id="one")
    await settle(stays, away)
    had = away.partitions
    assert await away.leave(epoch=-2) == ErrorCode.NONE
    await stays.beat()
    assert len(stays.partitions) == 2
    again = world.consumer(instance_id="one")
    await again.beat()
    assert again.partitions == had
    assert await stays.beat() == ErrorCode.NONE
    assert len(stays.partitions) == 2
    gone = await away.send(member_epoch=2)
    assert gone.error_code == ErrorCode.FENCED_INSTANCE_ID


async def test_a_static_member_that_stays_away_is_fenced(autojump_clock, world):
    away = world.consumer(instance_id="one")
    await away.beat()
    await away.leave(epoch=-2)
    await trio.sleep(45.1)
    assert await world.consumer_state() == "Empty"


async def test_an_instance_id_in_use_is_not_released(autojump_clock, world):
    await world.consumer(instance_id="one").beat()
    thief = world.consumer(instance_id="one")
    assert await thief.beat() == ErrorCode.UNRELEASED_INSTANCE_ID
    stranger = world.consumer(instance_id="two", epoch=1)
    assert (await stranger.send()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


# Offsets (B70)


async def commit_as(world, consumer, offset, version=9, epoch=None, partition=0):
    codes = await world.commit(
        ("orders", partition, offset),
        version=version,
        member_id=consumer.member_id,
        generation_id_or_member_epoch=consumer.epoch if epoch is None else epoch,
    )
    return codes[0]


async def test_members_commit_with_their_epoch(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    assert await commit_as(world, consumer, 7) == ErrorCode.NONE
    assert await commit_as(world, consumer, 8, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert await commit_as(world, consumer, 8, epoch=3) == ErrorCode.STALE_MEMBER_EPOCH
    assert await commit_as(world, world.consumer(), 8, epoch=2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await world.commit(("orders", 0, 8)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert await world.committed("orders", 0) == 7


async def test_an_older_epoch_will_do_for_what_was_had_since(autojump_clock, world):
    """KIP-1251: partition by partition."""
    first, second = world.consumer(), world.consumer()
    await settle(first, second)
    assert first.epoch == 3
    kept = min(index for _, index in first.partitions)
    lost = min(set(range(4)) - {index for _, index in first.partitions})
    assert await commit_as(world, first, 7, epoch=2, partition=kept) == ErrorCode.NONE
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert await commit_as(world, first, 7, epoch=2, partition=lost) == stale
    assert await commit_as(world, second, 7, epoch=2, partition=lost) == stale


# Restarts


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
    (refused,) = await world.coordinator.delete_groups(context, ["group"])
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    await consumer.leave()
    (deleted,) = await world.coordinator.delete_groups(context, ["group"])
    assert deleted.error_code == ErrorCode.NONE
    await world.start()
    assert await world.consumer_state() == ""


async def test_a_group_is_described(autojump_clock, world):
    consumer = world.consumer(instance_id="one", rack_id="here", regex="pay.*")
    await consumer.beat()
    (group,) = await world.describe_consumer()
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert group.assignor_name == "uniform"
    (member,) = group.members
    assert (member.instance_id, member.rack_id, member.member_epoch) == ("one", "here", 2)
    assert member.subscribed_topic_names == ["orders"]
    assert member.subscribed_topic_regex == "pay.*"
    assert member.member_type == 1
    for assignment in (member.assignment, member.target_assignment):
        assert {
            (topic.topic_name, index)
            for topic in assignment.topic_partitions
            for index in topic.partitions
        } == consumer.partitions
    (described,) = await world.coordinator.describe_groups(
        world.member(version=6).context, ["group"]
    )
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    (missing,) = await world.describe_consumer("nobody")
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    listed = await world.coordinator.list_groups(world.member().context, ["stable"], ["Consumer"])
    assert [(g.group_id, g.group_type) for g in listed] == [("group", "consumer")]
