"""Streams groups in messages: what heartbeats and descriptions are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import Partitions, Tasks, listed
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    InternalTopic,
    Status,
)
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.messages import streams_group_describe as describe_messages
from kafkalite.wire.messages import streams_group_heartbeat as heartbeat_messages
from kafkalite.wire.messages.stored import streams_group_topology as stored
from kafkalite.wire.messages.stored.streams_group_topology import StreamsGroupTopologyValue


def status_of(status: Status, detail: str) -> heartbeat_messages.Status:
    return heartbeat_messages.Status(status_code=status, status_detail=detail)


def endpoints_of(
    group: StreamsGroup, topics: TopicsView
) -> list[heartbeat_messages.EndpointToPartitions]:
    """Endpoints at which the state of partitions can be asked for."""
    configured = group.configured
    subtopologies: Mapping[str, ConfiguredSubtopology] = (
        {} if configured is None else configured.subtopologies
    )
    found: list[heartbeat_messages.EndpointToPartitions] = []
    for member in group.members.values():
        if member.user_endpoint is None:
            continue
        host, port = member.user_endpoint
        active = {name: epochs.keys() for name, epochs in member.assigned.active.items()}
        found.append(
            heartbeat_messages.EndpointToPartitions(
                user_endpoint=heartbeat_messages.Endpoint(host=host, port=port),
                active_partitions=_partitions(active, subtopologies, topics),
                standby_partitions=_partitions(member.assigned.standby, subtopologies, topics),
            )
        )
    return found


def _partitions(
    tasks: Mapping[str, Collection[int]],
    subtopologies: Mapping[str, ConfiguredSubtopology],
    topics: TopicsView,
) -> list[heartbeat_messages.TopicPartition]:
    """The partitions that tasks read."""
    found: list[heartbeat_messages.TopicPartition] = []
    for name, indexes in tasks.items():
        subtopology = subtopologies.get(name)
        if subtopology is None:
            continue
        for topic in sorted({*subtopology.source_topics, *subtopology.repartition_source_topics}):
            count = topics.partition_count(topic)
            partitions = sorted(index for index in indexes if index < count)
            if partitions:
                found.append(heartbeat_messages.TopicPartition(topic=topic, partitions=partitions))
    return found


def topology_from(topology: heartbeat_messages.Topology) -> StreamsGroupTopologyValue:
    """A topology as it is stored."""
    return StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[
            stored.Subtopology(
                subtopology_id=subtopology.subtopology_id,
                source_topics=list(subtopology.source_topics),
                source_topic_regex=list(subtopology.source_topic_regex),
                state_changelog_topics=[_stored(t) for t in subtopology.state_changelog_topics],
                repartition_sink_topics=list(subtopology.repartition_sink_topics),
                repartition_source_topics=[
                    _stored(t) for t in subtopology.repartition_source_topics
                ],
                copartition_groups=[
                    stored.CopartitionGroup(
                        source_topics=list(group.source_topics),
                        source_topic_regex=list(group.source_topic_regex),
                        repartition_source_topics=list(group.repartition_source_topics),
                    )
                    for group in subtopology.copartition_groups
                ],
            )
            for subtopology in topology.subtopologies
        ],
    )


def _stored(topic: heartbeat_messages.TopicInfo) -> stored.TopicInfo:
    return stored.TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[
            stored.TopicConfig(key=config.key, value=config.value) for config in topic.topic_configs
        ],
    )


# Description


def described(
    group: StreamsGroup, configured: ConfiguredTopology | None
) -> describe_messages.DescribedGroup:
    return describe_messages.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_described_topology(group, configured),
        members=[
            _described_member(member, group.targets.get(member.member_id, Tasks()))
            for member in group.members.values()
        ],
    )


def _described_topology(
    group: StreamsGroup, configured: ConfiguredTopology | None
) -> describe_messages.Topology | None:
    topology = group.topology
    if configured is not None and configured.is_ready:
        return describe_messages.Topology(
            epoch=configured.epoch,
            subtopologies=[
                describe_messages.Subtopology(
                    subtopology_id=name,
                    source_topics=sorted(each.source_topics),
                    repartition_sink_topics=sorted(each.repartition_sink_topics),
                    repartition_source_topics=_internal(each.repartition_source_topics),
                    state_changelog_topics=_internal(each.changelogs),
                )
                for name, each in sorted(configured.subtopologies.items())
            ],
        )
    if topology is None:
        return None
    return describe_messages.Topology(
        epoch=topology.epoch,
        subtopologies=[
            describe_messages.Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                repartition_source_topics=_wanted(each.repartition_source_topics),
                state_changelog_topics=_wanted(each.state_changelog_topics),
            )
            for each in sorted(topology.subtopologies, key=lambda each: each.subtopology_id)
        ],
    )


def _internal(topics: Mapping[str, InternalTopic]) -> list[describe_messages.TopicInfo]:
    return [
        describe_messages.TopicInfo(
            name=name,
            partitions=topics[name].partition_count,
            replication_factor=topics[name].replication_factor,
            topic_configs=[
                describe_messages.KeyValue(key=key, value=value)
                for key, value in topics[name].configs.items()
            ],
        )
        for name in sorted(topics)
    ]


def _wanted(topics: list[stored.TopicInfo]) -> list[describe_messages.TopicInfo]:
    return [
        describe_messages.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[
                describe_messages.KeyValue(key=config.key, value=config.value)
                for config in topic.topic_configs
            ],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _described_member(member: StreamsMember, target: Tasks) -> describe_messages.Member:
    endpoint = member.user_endpoint
    return describe_messages.Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=(
            None
            if endpoint is None
            else describe_messages.Endpoint(host=endpoint[0], port=endpoint[1])
        ),
        client_tags=[
            describe_messages.KeyValue(key=key, value=value)
            for key, value in member.client_tags.items()
        ],
        assignment=_assignment(
            member.assigned.active, member.assigned.standby, member.assigned.warmup
        ),
        target_assignment=_assignment(target.active, target.standby, target.warmup),
    )


def _assignment(
    active: Mapping[str, Iterable[int]], standby: Partitions, warmup: Partitions
) -> describe_messages.Assignment:
    made = describe_messages.TaskIds
    return describe_messages.Assignment(
        active_tasks=listed(made, active),
        standby_tasks=listed(made, standby),
        warmup_tasks=listed(made, warmup),
    )
