"""StreamsGroupHeartbeat over the wire: tasks, internal topics that are created, features."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.streams_group_heartbeat import (
    KeyValue,
    Subtopology,
    TopicInfo,
    Topology,
)
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.apis.streams_member import active, going_on, joining
from tests.kafkalite.group_requests import find
from tests.kafkalite.longest_turn import longest_turn

MISSING_INTERNAL_TOPICS = 3


async def with_words(clients: Any) -> Any:
    clients.broker.create_topic("words", partitions=3)
    client = await clients.connect()
    await find(client)
    return client


async def partition_counts(client: Any, *names: str) -> list[int]:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
    )
    topics = {topic.name: topic for topic in (await client.ask(request)).topics}
    return [len(topics[name].partitions) for name in names]


async def test_internal_topics_are_created(clients: Any) -> None:
    client = await with_words(clients)
    first = await client.ask(joining())
    assert first.error_code == ErrorCode.NONE
    (status,) = first.status
    assert status.status_code == MISSING_INTERNAL_TOPICS
    assert (first.active_tasks, first.heartbeat_interval_ms) == ([], 5_000)
    assert await partition_counts(client, "by-word", "store") == [3, 3]
    second = await client.ask(going_on(first.member_epoch))
    assert (second.status, active(second)) == ([], {"0": [0, 1, 2], "1": [0, 1, 2]})


async def test_topics_that_cannot_be_created(clients: Any) -> None:
    client = await with_words(clients)
    store = TopicInfo(name="store", topic_configs=[KeyValue(key="no.such.config", value="1")])
    topology = Topology(
        subtopologies=[
            Subtopology(subtopology_id="0", source_topics=["words"], state_changelog_topics=[store])
        ]
    )
    (status,) = (await client.ask(joining(topology))).status
    assert status.status_detail == (
        "Internal topics are missing: store; Creation failed: store (Unknown topic config name: "
        "no.such.config)."
    )


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (
            "__consumer_offsets",
            (
                "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is "
                "prohibited."
            ),
        ),
        ("a b", "Topic names a b are not valid topic names."),
    ],
)
async def test_names_that_cannot_be(clients: Any, topic: str, message: str) -> None:
    client = await with_words(clients)
    topology = Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=[topic])])
    answer = await client.ask(joining(topology))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.STREAMS_INVALID_TOPOLOGY,
        message,
    )


async def test_not_without_the_feature(clients: Any) -> None:
    client = await with_words(clients)
    off = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=2)
        ]
    )
    assert (await client.ask(off)).error_code == ErrorCode.NONE
    assert (await client.ask(joining())).error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_a_member_with_another_epoch_is_fenced(clients: Any) -> None:
    client = await with_words(clients)
    epoch = (await client.ask(joining())).member_epoch
    epoch = (await client.ask(going_on(epoch))).member_epoch
    tasks = {"_0": [0, 1, 2], "_1": [0, 1, 2]}
    again = await client.ask(going_on(epoch, **tasks))
    assert (again.member_epoch, again.active_tasks) == (epoch, None)
    ahead = await client.ask(going_on(epoch + 1, **tasks))
    assert ahead.error_code == ErrorCode.FENCED_MEMBER_EPOCH


async def test_ten_thousand_tasks_are_given_out_while_others_are_served(clients: Any) -> None:
    clients.broker.create_topic("words", partitions=10_000)
    client = await clients.connect()
    await find(client)
    words = Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=["words"])])
    with longest_turn() as turn:
        for name in ("first", "second", "third"):
            answer = await client.ask(joining(words, member_id=name, process_id=name))
            assert answer.error_code == ErrorCode.NONE
            assert len(active(answer).get("0", [])) == (10_000 if name == "first" else 0)
    assert turn.seconds < 0.02
