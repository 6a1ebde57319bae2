"""Checks of a StreamsGroupHeartbeat (Kafka's throwIf...)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkalite.group_coordinator.heartbeat_checks import refuse_blank
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from kafkalite.group_coordinator.streams_tasks import Partitions
from kafkalite.group_coordinator.streams_topology import ConfiguredSubtopology
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology

_TASKS: Final = (
    ("active_tasks", "ActiveTasks"),
    ("standby_tasks", "StandbyTasks"),
    ("warmup_tasks", "WarmupTasks"),
)


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """KafkaError for what no group could accept."""
    _check_features(request)
    refuse_blank(
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    )
    epoch = request.member_epoch
    if epoch == JOIN_EPOCH:
        _check_joining(request)
    elif epoch == STATIC_LEAVE_EPOCH:
        if request.instance_id is None:
            raise invalid_request("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise invalid_request(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    said = [getattr(request, field) is not None for field, _ in _TASKS]
    if any(said) and not all(said):
        raise invalid_request("If one task-type is non-null, all must be non-null.")
    if epoch != JOIN_EPOCH and request.topology is not None:
        raise invalid_request("Topology can only be provided when (re-)joining.")


def _check_features(request: StreamsGroupHeartbeatRequest) -> None:
    """Refuse what Apache Kafka 4.3 does not support yet."""
    if request.instance_id is not None:
        raise invalid_request("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise invalid_request("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise invalid_request("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise invalid_request("WarmupTasks are not supported yet.")
    if request.topology is not None:
        for subtopology in request.topology.subtopologies:
            if subtopology.source_topic_regex:
                raise invalid_request(
                    "Regular expressions for source topics are not supported yet."
                )


def _check_joining(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise invalid_request("RebalanceTimeoutMs must be provided in first request.")
    for field, name in _TASKS:
        if getattr(request, field) != []:
            raise invalid_request(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise invalid_request("Topology must be non-null when (re-)joining.")
    _check_changelogs(request.topology)


def _check_changelogs(topology: Topology) -> None:
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                raise KafkaError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it "
                    f"is set to {topic.partitions}.",
                )


def check_unambiguous(request: StreamsGroupHeartbeatRequest) -> None:
    """KafkaError for an epoch below 0, or what is said of one subtopology or client tag twice.

    Kafka runs into an error of its own there, once it knows the member.
    """
    topology, tags = request.topology, request.client_tags or ()
    is_clear = len({tag.key for tag in tags}) == len(tags)
    if topology is not None:
        ids = {each.subtopology_id for each in topology.subtopologies}
        is_clear &= topology.epoch >= 0 and len(ids) == len(topology.subtopologies)
    if not is_clear:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def check_tasks(subtopologies: Mapping[str, ConfiguredSubtopology], *said: Partitions) -> None:
    """KafkaError for tasks that the topology does not have."""
    for partitions in said:
        for subtopology_id, indexes in partitions.items():
            subtopology = subtopologies.get(subtopology_id)
            if subtopology is None:
                raise invalid_request(
                    f"Subtopology {subtopology_id} does not exist in the topology."
                )
            count = subtopology.task_count
            for index in indexes:
                if not 0 <= index < count:
                    raise invalid_request(
                        f"Task {index} for subtopology {subtopology_id} is invalid. Number of "
                        f"tasks for this subtopology: {count}"
                    )
