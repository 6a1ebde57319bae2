"""Records of a streams group in `__consumer_offsets`, a key and a value for every change.

Source: Kafka's StreamsCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import (
    AssignedTasks,
    Partitions,
    PartitionsWithEpochs,
    Tasks,
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


def group(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> Change:
    return (
        StreamsGroupMetadataKey(group_id=group_id),
        StreamsGroupMetadataValue(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_topology_epoch,
            last_assignment_configs=[
                LastAssignmentConfig(key=key, value=value)
                for key, value in sorted(assignment_configs.items())
            ],
        ),
    )


def topology(group_id: str, value: StreamsGroupTopologyValue) -> Change:
    return StreamsGroupTopologyKey(group_id=group_id), value


def assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    return (
        StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
        StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        ),
    )


def target(group_id: str, member_id: str, target: Tasks) -> Change:
    def listed(partitions: Partitions) -> list[targets.TaskIds]:
        return [
            targets.TaskIds(subtopology_id=name, partitions=sorted(partitions[name]))
            for name in sorted(partitions)
        ]

    return (
        StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        StreamsGroupTargetAssignmentMemberValue(
            active_tasks=listed(target.active),
            standby_tasks=listed(target.standby),
            warmup_tasks=listed(target.warmup),
        ),
    )


def current_assignment(group_id: str, member: StreamsMember) -> Change:
    assigned, pending = member.assigned, member.pending_revocation
    return (
        StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            active_tasks=_with_epochs(assigned.active),
            standby_tasks=_listed(assigned.standby),
            warmup_tasks=_listed(assigned.warmup),
            active_tasks_pending_revocation=_with_epochs(pending.active),
            standby_tasks_pending_revocation=_listed(pending.standby),
            warmup_tasks_pending_revocation=_listed(pending.warmup),
        ),
    )


def _listed(partitions: Partitions) -> list[current.TaskIds]:
    return [
        current.TaskIds(subtopology_id=name, partitions=sorted(partitions[name]))
        for name in sorted(partitions)
    ]


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


def _epochs_from(listed: Iterable[current.TaskIds], epoch: int) -> dict[str, dict[int, int]]:
    """The member's epoch counts if none are kept."""
    return {
        tasks.subtopology_id: dict(
            zip(
                tasks.partitions,
                tasks.assignment_epochs or [epoch] * len(tasks.partitions),
                strict=True,
            )
        )
        for tasks in listed
        if tasks.partitions
    }


def no_member(group_id: str, member_id: str) -> list[Change]:
    """The records that end a member, the last first."""
    return [
        (StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def no_group(group_id: str, member_ids: Iterable[str]) -> list[Change]:
    """The records that end a group with all that is in it."""
    changes = [change for member_id in member_ids for change in no_member(group_id, member_id)]
    changes.append((StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    changes.append((StreamsGroupTopologyKey(group_id=group_id), None))
    changes.append((StreamsGroupMetadataKey(group_id=group_id), None))
    return changes
