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
        "describe topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[
                    describe_topic_partitions.TopicRequest(name=name)
                    for name in (*TOPICS, *MISSING)
                ]
            ),
            None,
        ),
        "describe all topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(),
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


def topics(ids: TopicIds) -> Requests:
    """By name."""
    return {**_part_0(ids), **_part_1()}
