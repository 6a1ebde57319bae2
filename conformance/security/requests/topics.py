"""Requests about topics and their partitions."""

from __future__ import annotations

from typing import Any

from conformance.security.requests.vocabulary import MISSING, TOPICS, Requests, TopicIds
from kafkalite.wire.messages import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    elect_leaders,
    list_partition_reassignments,
    metadata,
)


def _metadata(names: list[str] | None, **settings: Any) -> metadata.MetadataRequest:
    topics = None if names is None else [metadata.MetadataRequestTopic(name=name) for name in names]
    settings.setdefault("allow_auto_topic_creation", False)
    return metadata.MetadataRequest(topics=topics, **settings)


def _create_topics() -> create_topics.CreateTopicsRequest:
    return create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in ("open-new", "shut-new", "open-topic")
        ],
        timeout_ms=1000,
        validate_only=True,
    )


def _part_0(ids: TopicIds) -> Requests:
    return {
        "metadata of all": (_metadata(None), None),
        "metadata by name": (
            _metadata(
                [*TOPICS, *MISSING],
                include_topic_authorized_operations=True,
            ),
            None,
        ),
        "metadata, creating": (
            _metadata(["shut-created"], allow_auto_topic_creation=True),
            None,
        ),
        "metadata 0 by name": (_metadata([*TOPICS], allow_auto_topic_creation=True), 0),
        "metadata 10": (
            _metadata(
                [*TOPICS],
                include_topic_authorized_operations=True,
                include_cluster_authorized_operations=True,
            ),
            10,
        ),
        "metadata by id": (
            metadata.MetadataRequest(
                topics=[
                    metadata.MetadataRequestTopic(name=None, topic_id=ids[name]) for name in TOPICS
                ],
                allow_auto_topic_creation=False,
            ),
            None,
        ),
        "create topics": (_create_topics(), None),
        "delete topics that are missing": (
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=name) for name in MISSING],
                timeout_ms=1000,
            ),
            None,
        ),
        "delete topics that are shut": (
            delete_topics.DeleteTopicsRequest(topic_names=[*MISSING], timeout_ms=1000),
            5,
        ),
    }


def _descriptions() -> Requests:
    return {
        "describe topic partitions, one without a name": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[describe_topic_partitions.TopicRequest(name=name) for name in ("", *TOPICS)]
            ),
            None,
        ),
        "describe topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[
                    describe_topic_partitions.TopicRequest(name=name)
                    for name in (*TOPICS, *MISSING)
                ]
            ),
            None,
        ),
        "describe topic partitions from a refused one on": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[
                    describe_topic_partitions.TopicRequest(name=name)
                    for name in ("a-missing", *TOPICS)
                ],
                cursor=describe_topic_partitions.Cursor("a-missing", 1),
            ),
            None,
        ),
        "describe all topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(),
            None,
        ),
        "describe one partition of all": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(response_partition_limit=1),
            None,
        ),
        "describe one partition from a topic on": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                response_partition_limit=1,
                cursor=describe_topic_partitions.Cursor("open-topic", 0),
            ),
            None,
        ),
    }


def _part_1() -> Requests:
    return {
        "create partitions": (
            create_partitions.CreatePartitionsRequest(
                topics=[
                    create_partitions.CreatePartitionsTopic(name=name, count=2, assignments=None)
                    for name in (*TOPICS, *MISSING)
                ],
                timeout_ms=1000,
                validate_only=True,
            ),
            None,
        ),
        "elect leaders": (
            elect_leaders.ElectLeadersRequest(
                topic_partitions=[elect_leaders.TopicPartitions("open-topic", [0])],
                timeout_ms=1000,
            ),
            None,
        ),
        "reassign": (
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                topics=[
                    alter_partition_reassignments.ReassignableTopic(
                        name="open-topic",
                        partitions=[
                            alter_partition_reassignments.ReassignablePartition(
                                partition_index=0, replicas=None
                            )
                        ],
                    )
                ]
            ),
            None,
        ),
        "list reassignments": (
            list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
            None,
        ),
    }


def _too_late(ids: TopicIds) -> Requests:
    """Changes without time, of which ACLs may leave nothing; some are refused in any case."""
    create = _create_topics()
    twice = [*create.topics, *create.topics[:1]]
    partitions = [
        create_partitions.CreatePartitionsTopic(name=name, count=2, assignments=None)
        for name in (*TOPICS, *MISSING, *TOPICS)
    ]
    named = [*TOPICS, *MISSING, *MISSING]
    by_id = [delete_topics.DeleteTopicState(name=None, topic_id=ids[name]) for name in TOPICS]
    return {
        "create topics too late": (
            create_topics.CreateTopicsRequest(topics=twice, timeout_ms=-1),
            None,
        ),
        "create one topic too late": (
            create_topics.CreateTopicsRequest(topics=create.topics[1:2], timeout_ms=0),
            None,
        ),
        "create partitions too late": (
            create_partitions.CreatePartitionsRequest(topics=partitions, timeout_ms=-1),
            None,
        ),
        "delete topics too late": (
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=name) for name in named], timeout_ms=-1
            ),
            None,
        ),
        "delete topics by name too late": (
            delete_topics.DeleteTopicsRequest(topic_names=named, timeout_ms=0),
            5,
        ),
        "delete topics by id too late": (
            delete_topics.DeleteTopicsRequest(topics=by_id, timeout_ms=0),
            None,
        ),
        "delete a shut topic too late": (
            delete_topics.DeleteTopicsRequest(topic_names=[TOPICS[1]], timeout_ms=0),
            5,
        ),
    }


def topics(ids: TopicIds) -> Requests:
    """By name."""
    return {**_part_0(ids), **_descriptions(), **_part_1(), **_too_late(ids)}
