"""Topics that go and come while groups are subscribed to them, and who notices."""

from __future__ import annotations

from conformance.differential.comparison import Pair
from conformance.differential.group_requests import beat as beat_as_classic
from conformance.differential.test_consumer_groups import beat, describe, join, joining, owning
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def delete(pair: Pair, topic: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=5000)
    pair.ask(ApiKey.DELETE_TOPICS, 6, request)
    pair.settle()


def test_a_topic_is_deleted_and_made_again(pair: Pair, topic: str, group: str) -> None:
    """The heartbeat of a classic member looks at no topics: the next one of the others does."""
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    join(pair, group, topic, "c-1")
    owning(pair, group, topic, 0, 1, member_epoch=2)
    beat(pair, group, member_epoch=3)
    for epoch in (3, 4):
        delete(pair, topic)
        beat_as_classic(pair, group, 4, epoch, member_id="c-1")
        describe(pair, group)
        pair.create_topic(topic, 2)
        beat_as_classic(pair, group, 4, epoch, member_id="c-1")
        beat(pair, group, member_epoch=epoch)
        describe(pair, group)
        beat_as_classic(pair, group, 4, epoch, member_id="c-1")
        join(pair, group, topic, "c-1")
        describe(pair, group)
        beat(pair, group, member_epoch=epoch + 1)


def test_the_next_heartbeat_notices(pair: Pair, topic: str, group: str) -> None:
    """Without a heartbeat nothing is noticed."""
    pair.create_topic(topic, 2)
    beat(pair, group, **joining(topic))
    delete(pair, topic)
    describe(pair, group)
    pair.create_topic(topic, 4)
    describe(pair, group)
    beat(pair, group, member_epoch=2)
    describe(pair, group)


def test_members_who_all_have_nothing(pair: Pair, topic: str, group: str) -> None:
    """The assignor gives them neighbouring partitions, in the order of Kafka's hash tables."""
    pair.create_topic(topic, 3)
    members = ["q", "b", "p"]
    epochs = {
        member: beat(pair, group, **joining(topic, member_id=member)).member_epoch
        for member in members
    }

    def catch_up() -> None:
        """Each member says that it owns nothing."""
        for member, epoch in epochs.items():
            answer = beat(pair, group, member_id=member, member_epoch=epoch, topic_partitions=[])
            epochs[member] = answer.member_epoch
        describe(pair, group)

    for _ in range(3):
        catch_up()
    for count in (8, 5, 20):
        delete(pair, topic)
        catch_up()
        pair.create_topic(topic, count)
        catch_up()
        catch_up()
