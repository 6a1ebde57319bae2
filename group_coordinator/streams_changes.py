"""The changes of a heartbeat in a streams group: the member's news, new targets (KIP-1071)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.streams_assignor import StreamsCandidate, assign_sticky
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import Tasks, partitions_of
from kafkalite.group_coordinator.streams_topology import ConfiguredTopology
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyValue,
    Subtopology,
)
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest


def by_id(topology: StreamsGroupTopologyValue) -> dict[str, Subtopology]:
    return {each.subtopology_id: each for each in topology.subtopologies}


def owned_by(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """The tasks that the member says it has, None if it does not say."""
    if request.active_tasks is None or request.standby_tasks is None:
        return None
    return Tasks(
        partitions_of(request.active_tasks),
        partitions_of(request.standby_tasks),
        partitions_of(request.warmup_tasks),
    )


def updated(
    member: StreamsMember, caller: Caller, request: StreamsGroupHeartbeatRequest
) -> StreamsMember:
    """The member with the fields that the request names. The others stay."""
    timeout_ms, tags = request.rebalance_timeout_ms, request.client_tags
    endpoint, topology = request.user_endpoint, request.topology
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=member.topology_epoch if topology is None else topology.epoch,
        process_id=member.process_id if request.process_id is None else request.process_id,
        client_tags=(member.client_tags if tags is None else {tag.key: tag.value for tag in tags}),
        user_endpoint=member.user_endpoint if endpoint is None else (endpoint.host, endpoint.port),
        client_id=caller.client_id,
        client_host=shown_host(caller),
    )


def targets(group: StreamsGroup, configured: ConfiguredTopology) -> Mapping[str, Tasks]:
    """A new target for every member; nothing while topics are missing."""
    if not configured.is_ready:
        return {member_id: Tasks() for member_id in group.members}
    subtopologies = configured.subtopologies
    return assign_sticky(
        [
            StreamsCandidate(
                member.member_id,
                member.process_id,
                group.targets.get(member.member_id, Tasks()),
            )
            for member in group.members.values()
        ],
        {name: each.task_count for name, each in subtopologies.items()},
        [name for name, each in subtopologies.items() if each.is_stateful],
        int(group.assignment_configs.get("num.standby.replicas", "0")),
    )
