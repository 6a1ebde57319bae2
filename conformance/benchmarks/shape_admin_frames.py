"""Frames of what tools and consoles ask: configs, topics, groups, epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from conformance.benchmarks.shape_frames import Frames, Topics, one_frame
from conformance.benchmarks.shapes import Shape
from kafkalite.wire.messages import (
    describe_configs,
    describe_topic_partitions,
    list_groups,
    offset_for_leader_epoch,
)

_TOPIC: Final = 2


def _describe_configs(shape: Shape, topics: Topics) -> Frames:
    resources = [
        describe_configs.DescribeConfigsResource(
            resource_type=_TOPIC, resource_name=name, configuration_keys=None
        )
        for name in topics.names
    ]
    return one_frame(shape, describe_configs.DescribeConfigsRequest(resources=resources))


def _describe_topic_partitions(shape: Shape, topics: Topics) -> Frames:
    named = [describe_topic_partitions.TopicRequest(name=name) for name in topics.names]
    asked = describe_topic_partitions.DescribeTopicPartitionsRequest(topics=named)
    return one_frame(shape, asked)


def _offset_for_leader_epoch(shape: Shape, topics: Topics) -> Frames:
    partitions = [
        offset_for_leader_epoch.OffsetForLeaderPartition(partition=index, leader_epoch=0)
        for index in range(shape.partitions)
    ]
    asked: Any = offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopic(topic=name, partitions=partitions)
            for name in topics.names
        ],
    )
    return one_frame(shape, asked)


def _list_groups(shape: Shape, topics: Topics) -> Frames:
    return one_frame(shape, list_groups.ListGroupsRequest())


ADMIN_FRAMES: Final[dict[str, Callable[[Shape, Topics], Frames]]] = {
    "describe_configs": _describe_configs,
    "describe_topic_partitions": _describe_topic_partitions,
    "offset_for_leader_epoch": _offset_for_leader_epoch,
    "list_groups": _list_groups,
}
