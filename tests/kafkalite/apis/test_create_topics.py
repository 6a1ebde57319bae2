"""CreateTopics, in every version: what is made, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def new_topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in (assignments or {}).items()
        ],
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


async def create(
    client: Any, *topics: CreatableTopic, validate_only: bool = False, version: int = 7
) -> dict[str, CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    answer = await client.ask(request, version)
    results = {result.name: result for result in answer.topics}
    assert len(results) == len(answer.topics)
    return results


async def names(client: Any) -> list[str]:
    answer = await client.ask(MetadataRequest(topics=None))
    return sorted(topic.name for topic in answer.topics)


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_is_usable_when_the_answer_is_there(client: Any, version: int) -> None:
    results = await create(client, new_topic("t", 3), version=version)
    result = results["t"]
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    answer = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
    (topic,) = answer.topics
    assert [partition.leader_id for partition in topic.partitions] == [1, 1, 1]
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        configs = {config.name: config for config in result.configs}
        assert configs["retention.ms"].value == "604800000"
        assert configs["min.insync.replicas"].config_source == 3  # as a new 4.3 cluster has it
    if version == 7:
        assert result.topic_id == topic.topic_id


async def test_configs_are_told_as_the_request_spells_them(client: Any) -> None:
    name, value = "min.cleanable.dirty.ratio", "0.50"
    answer = await client.ask(
        CreateTopicsRequest(topics=[with_configs("t", (name, value))], timeout_ms=1000), 7
    )
    told = {config.name: config.value for config in answer.topics[0].configs}
    assert told[name] == value


async def test_defaults_come_from_the_broker() -> None:
    async with test_broker({"num.partitions": 4, "default.replication.factor": 2}, nodes=2) as b:
        b.create_topic("t")
        topic = b._running.services.topics.get("t")
        assert topic is not None
        assert len(topic.partitions) == 4
        assert {len(partition.replicas) for partition in topic.partitions} == {2}


LONG_NAME = "x" * 250
REFUSED = {
    "a_b": (17, "Topic 'a_b' collides with existing topic: a.b"),
    "there": (36, "Topic 'there' already exists."),
    "": (17, "Topic name is invalid: the empty string is not allowed"),
    ".": (17, "Topic name is invalid: '.' is not allowed"),
    "..": (17, "Topic name is invalid: '..' is not allowed"),
    "sp ace": (
        17,
        (
            "Topic name is invalid: 'sp ace' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        ),
    ),
    LONG_NAME: (
        17,
        (
            f"Topic name is invalid: the length of '{LONG_NAME}' is longer than the max allowed "
            "length 249"
        ),
    ),
    "twice": (42, "Duplicate topic name."),
    "__cluster_metadata": (42, "Creation of internal topic __cluster_metadata is prohibited."),
    "no-replicas": (
        38,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    "bad-replicas": (
        38,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    "many-replicas": (
        38,
        (
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 "
            "cannot be reached because only 1 broker(s) are registered or some brokers have all "
            "their log directories cordoned."
        ),
    ),
    "no-partitions": (37, "Number of partitions was set to an invalid non-positive value."),
    "bad-partitions": (37, "Number of partitions was set to an invalid non-positive value."),
    "count-too": (
        42,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    "factor-too": (
        42,
        ("A manual partition assignment was specified, but replication factor was not set to -1."),
    ),
    "unknown-node": (
        39,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    "same-node": (
        39,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    "no-node": (39, "The manual partition assignment includes an empty replica list."),
    "hole": (39, "partitions should be a consecutive 0-based integer sequence"),
    "bad-config": (
        40,
        "Invalid value soon for configuration retention.ms: Not a number of type LONG",
    ),
    "unknown-config": (40, "Unknown topic config name: nosuch"),
    "null-config": (40, "Null value not supported for topic configs: retention.ms"),
    "null-configs": (40, "Null value not supported for topic configs: retention.ms,retention.ms"),
    "null-and-not": (40, "Null value not supported for topic configs: retention.ms"),
}


def with_configs(name: str, *configs: tuple[str, str | None]) -> CreatableTopic:
    topic = new_topic(name)
    topic.configs = [CreatableTopicConfig(name=key, value=value) for key, value in configs]
    return topic


async def test_what_is_refused(client: Any) -> None:
    await create(client, new_topic("a.b"), new_topic("there"))
    refused = await create(
        client,
        new_topic("a_b"),
        new_topic("there"),
        new_topic(""),
        new_topic("."),
        new_topic(".."),
        new_topic("sp ace"),
        new_topic(LONG_NAME),
        new_topic("twice"),
        new_topic("twice", 2),
        new_topic("__cluster_metadata"),
        new_topic("no-replicas", replicas=0),
        new_topic("bad-replicas", replicas=-2),
        new_topic("many-replicas", replicas=3),
        new_topic("no-partitions", partitions=0),
        new_topic("bad-partitions", partitions=-2),
        new_topic("count-too", 1, -1, {0: [1]}),
        new_topic("factor-too", -1, 1, {0: [1]}),
        new_topic("unknown-node", -1, -1, {0: [9]}),
        new_topic("same-node", -1, -1, {0: [1, 1]}),
        new_topic("no-node", -1, -1, {0: []}),
        new_topic("hole", -1, -1, {0: [1], 2: [1]}),
        new_topic("bad-config", retention_ms="soon"),
        new_topic("unknown-config", nosuch="1"),
        new_topic("null-config", retention_ms=None),
        with_configs("null-configs", ("retention.ms", None), ("retention.ms", None)),
        with_configs("null-and-not", ("retention.ms", None), ("retention.ms", "1")),
    )
    told = {name: (result.error_code, result.error_message) for name, result in refused.items()}
    assert told == REFUSED
    assert await names(client) == ["a.b", "there"]


async def test_the_duplicate_is_refused_and_the_others_are_made(client: Any) -> None:
    results = await create(client, new_topic("a"), new_topic("b"), new_topic("a"))
    assert {name: result.error_code for name, result in results.items()} == {"a": 42, "b": 0}
    assert await names(client) == ["b"]


async def test_validate_only_makes_nothing(client: Any) -> None:
    results = await create(client, new_topic("a", 2), new_topic("b", 0), validate_only=True)
    assert {name: result.error_code for name, result in results.items()} == {"a": 0, "b": 37}
    assert results["a"].num_partitions == 2
    assert await names(client) == []


async def test_an_assignment_by_hand_is_kept() -> None:
    async with test_broker(nodes=3) as b:
        topics = b._running.services.topics
        from kafkalite.replica.topics import NewTopic

        topics.create(NewTopic("t", assignments=[(1, [3, 1]), (0, [2, 3])]))
        topic = topics.get("t")
        assert topic is not None
        assert [(part.leader_id, part.replicas) for part in topic.partitions] == [
            (2, [2, 3]),
            (3, [3, 1]),
        ]


async def test_ids_and_configs_are_the_same_after_a_restart(tmp_path: Path) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        b.create_topic("t", 2, configs={"retention.ms": 5})
        topic_id, cluster_id = b.topic_id("t"), b.cluster_id
    async with test_broker(data_dir=tmp_path) as b:
        assert (b.topic_id("t"), b.cluster_id) == (topic_id, cluster_id)
        topic = b._running.services.topics.get("t")
        assert topic is not None
        assert topic.configs == {"retention.ms": "5"}
        assert [partition.log.config.retention_ms for partition in topic.partitions] == [5, 5]
        assert [partition.leader_epoch for partition in topic.partitions] == [2, 2]


async def test_too_many_partitions_at_once(client: Any) -> None:
    for topics in (
        [new_topic("a", 10_001)],
        [new_topic("a", 5_000), new_topic("b", 5_000), new_topic("c", -1, -1)],
        [new_topic("a", 2**31 - 1)],
    ):
        results = await create(client, *topics)
        assert {(result.error_code, result.error_message) for result in results.values()} == {
            (44, "Excessively large number of partitions per request.")
        }
    assert await names(client) == []
