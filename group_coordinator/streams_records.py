"""The records of a streams group, from values and back (KIP-1071). See modern_records.py for those
that other groups have, too.

    23  StreamsGroupTopology   the topology of the application

Source: Kafka's StreamsCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.modern_records import ModernRecords
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import (
    AssignedTasks,
    PartitionsWithEpochs,
    Tasks,
    listed,
    partitions_of,
)
from kafkalite.wire.messages.stored import streams_group_current_member_assignment as current
from kafkalite.wire.messages.stored import streams_group_target_assignment_member as targets
from kafkalite.wire.messages.stored.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.streams_group_member_metadata import (
    Endpoint,
    KeyValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.streams_group_metadata import (
    LastAssignmentConfig,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from kafkalite.wire.messages.stored.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
)
from kafkalite.wire.messages.stored.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

RECORDS = ModernRecords(
    group_type="streams",
    group=StreamsGroupMetadataKey,
    group_value=StreamsGroupMetadataValue,
    member=StreamsGroupMemberMetadataKey,
    target_epoch=StreamsGroupTargetAssignmentMetadataKey,
    target_epoch_value=StreamsGroupTargetAssignmentMetadataValue,
    target=StreamsGroupTargetAssignmentMemberKey,
    current=StreamsGroupCurrentMemberAssignmentKey,
    first_state=1,
)

RECORDS.prepare(StreamsGroupTopologyKey)  # with the import, in a thread


def member(group_id: str, member: StreamsMember) -> Change:
    endpoint = member.user_endpoint
    return (
        StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        StreamsGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None
            if endpoint is None
            else Endpoint(host=endpoint[0], port=endpoint[1]),
            client_tags=[
                KeyValue(key=key, value=value) for key, value in sorted(member.client_tags.items())
            ],
        ),
    )


def group_epoch(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> Change:
    """The group begins another epoch, with the topology that is sound as the topics are."""
    return RECORDS.group_epoch(
        group_id,
        epoch,
        metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            LastAssignmentConfig(key=key, value=value)
            for key, value in sorted(assignment_configs.items())
        ],
    )


def topology(group_id: str, value: StreamsGroupTopologyValue) -> Change:
    return StreamsGroupTopologyKey(group_id=group_id), value


def target(group_id: str, member_id: str, target: Tasks) -> Change:
    return (
        StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        StreamsGroupTargetAssignmentMemberValue(
            active_tasks=listed(targets.TaskIds, target.active),
            standby_tasks=listed(targets.TaskIds, target.standby),
            warmup_tasks=listed(targets.TaskIds, target.warmup),
        ),
    )


def current_assignment(group_id: str, member: StreamsMember) -> Change:
    assigned, pending = member.assigned, member.pending_revocation
    return (
        StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=RECORDS.number_of(member.state),
            active_tasks=_with_epochs(assigned.active),
            standby_tasks=listed(current.TaskIds, assigned.standby),
            warmup_tasks=listed(current.TaskIds, assigned.warmup),
            active_tasks_pending_revocation=_with_epochs(pending.active),
            standby_tasks_pending_revocation=listed(current.TaskIds, pending.standby),
            warmup_tasks_pending_revocation=listed(current.TaskIds, pending.warmup),
        ),
    )


def _with_epochs(tasks: PartitionsWithEpochs) -> list[current.TaskIds]:
    return [
        current.TaskIds(
            subtopology_id=name,
            partitions=sorted(tasks[name]),
            assignment_epochs=[tasks[name][index] for index in sorted(tasks[name])],
        )
        for name in sorted(tasks)
    ]


def assigned_from(
    value: StreamsGroupCurrentMemberAssignmentValue,
) -> tuple[AssignedTasks, AssignedTasks]:
    """The tasks a member has, and those it has yet to give up."""
    epoch = value.member_epoch
    return (
        AssignedTasks(
            _epochs_from(value.active_tasks, epoch),
            partitions_of(value.standby_tasks),
            partitions_of(value.warmup_tasks),
        ),
        AssignedTasks(
            _epochs_from(value.active_tasks_pending_revocation, epoch),
            partitions_of(value.standby_tasks_pending_revocation),
            partitions_of(value.warmup_tasks_pending_revocation),
        ),
    )


def _epochs_from(stored: Iterable[current.TaskIds], epoch: int) -> dict[str, dict[int, int]]:
    """The member's epoch counts if none are kept."""
    return {
        tasks.subtopology_id: dict(
            zip(
                tasks.partitions,
                tasks.assignment_epochs or [epoch] * len(tasks.partitions),
                strict=True,
            )
        )
        for tasks in stored
        if tasks.partitions
    }
