"""The rules of StreamsGroupHeartbeat, and of silence, for streams groups (KIP-1071).

A heartbeat that changes anything takes these steps, and all changes are written as one batch:

    1. create or change the member; take in the topology
    2. look at the topics that the topology needs; a change raises the group epoch
    3. compute a new target, if the group epoch is ahead of it
    4. bring the member one step nearer to its target

Internal topics that are missing are returned, and created after the answer is made.
Source of the rules: Kafka's GroupMetadataManager (streamsGroup...).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkalite.group_coordinator import streams_records
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.heartbeat_checks import check_epoch
from kafkalite.group_coordinator.metadata_hash import metadata_hash
from kafkalite.group_coordinator.modern_member import JOIN_EPOCH
from kafkalite.group_coordinator.modern_protocol import (
    ModernProtocol,
    new_targets_are_due,
    set_targets,
)
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.streams_answers import endpoints_of, status_of, topology_from
from kafkalite.group_coordinator.streams_changes import by_id, owned_by, targets, updated
from kafkalite.group_coordinator.streams_checks import check_tasks, check_unambiguous
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import (
    StreamsMember,
    Surroundings,
    check_state,
    reconcile,
)
from kafkalite.group_coordinator.streams_processes import TaskProcesses
from kafkalite.group_coordinator.streams_tasks import Tasks, listed
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredTopology,
    InternalTopic,
    Status,
    configure,
    required_topics,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import streams_group_heartbeat as heartbeat_messages
from kafkalite.wire.messages.stored.streams_group_topology import StreamsGroupTopologyValue
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafkalite.wire.rows import SharedResponse

NO_TOPOLOGY_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a heartbeat, and the topics to create."""

    response: StreamsGroupHeartbeatResponse
    to_create: Mapping[str, InternalTopic]


class StreamsProtocol(ModernProtocol[StreamsGroup, StreamsMember, StreamsGroupHeartbeatRequest]):
    """The rules, for all streams groups of a coordinator."""

    def __init__(self, services: GroupServices) -> None:
        super().__init__(StreamsGroup, services)
        self._topics = services.topics
        self._overrides = services.overrides

    # StreamsGroupHeartbeat

    def steady(
        self,
        group: StreamsGroup,
        caller: Caller,
        request: StreamsGroupHeartbeatRequest,
        row: tuple[Any, ...],
    ) -> SharedResponse | None:
        member = group.members.get(request.member_id)
        if (
            member is None
            or not _changes_nothing(member, caller, request)
            or not self._is_settled(group, member)
        ):
            return None
        response = self._response(group, member, member, request)
        return self.keep_answer(group, member, caller, row, response)

    def heartbeat(
        self,
        changes: Changes[StreamsGroup],
        caller: Caller,
        request: StreamsGroupHeartbeatRequest,
        *,
        is_new: bool,
    ) -> Answered:
        """Take in a member that stays, joins or changes. Raises KafkaError if it is refused."""
        group = changes.group
        owned = owned_by(request)
        before = self._member_for(group, request)
        check_state(before, owned)
        check_unambiguous(request)
        topology = self._topology(group, request)
        hashed, configured = self._configured(group, topology)
        if configured.is_ready and owned is not None:
            check_tasks(configured.subtopologies, owned.active, owned.standby, owned.warmup)
        # Nothing is refused from here on, unless it cannot be written.
        was_empty = group.is_empty
        member = updated(before, caller, request)
        bump = member != before
        # The processes as they are before its news: a member that moves to another one has its
        # tasks in its old one still, and one that stays does not note its tasks anew.
        is_renewed = bump and member.member_id in group.members
        processes = group.processes.copy() if is_renewed else group.processes
        if bump:
            changes.add(streams_records.member(group.group_id, member))
        if group.topology is None:
            changes.add(streams_records.topology(group.group_id, topology))
        status: list[heartbeat_messages.Status] = []
        if member.topology_epoch < topology.epoch:
            status.append(
                status_of(
                    Status.STALE_TOPOLOGY,
                    f"The member's topology epoch {member.topology_epoch} is behind the group's "
                    f"topology epoch {topology.epoch}.",
                )
            )
        self._look_at_topics(changes, hashed, configured, bump=bump)
        if was_empty:
            self._delay_first_assignment(group)
        self._assign(changes, configured, status)
        member = self._reconcile(changes, request.member_id, owned, processes)
        self.commit(changes)
        self.put_off(group, member.member_id)
        self.watch_revocation(group, member)
        if request.shutdown_application:
            group.request_shutdown(member.member_id)
        response = self._response(group, before, member, request)
        problem = configured.problem
        if problem is not None:
            status.append(status_of(problem.status, problem.detail))
        if group.shutdown_requested_by is not None:
            status.append(
                status_of(
                    Status.SHUTDOWN_APPLICATION,
                    f"Streams group member {group.shutdown_requested_by} encountered a fatal error "
                    "and requested a shutdown for the entire application.",
                )
            )
        response.status = status
        if is_new:  # Kafka answers about a group that it forgets, but for what is written of it
            group.endpoint_epoch, group.shutdown_requested_by, group.configured = 0, None, None
        return Answered(response, configured.missing)

    def _is_settled(self, group: StreamsGroup, member: StreamsMember) -> bool:
        """True if there is nothing to do or to say, for the group and for the member."""
        configured = group.configured
        return (
            configured is not None
            and configured.is_ready
            and not group.is_metadata_stale
            and group.shutdown_requested_by is None
            and member.topology_epoch == configured.epoch
            and group.epoch == group.assignment_epoch
            and member.is_reconciled_to(group.assignment_epoch)
            and group.assignment_configs == self._assignment_configs(group)
        )

    def _assignment_configs(self, group: StreamsGroup) -> dict[str, str]:
        """The configs that the targets depend on, as they are now."""
        count = self._overrides.streams_num_standby_replicas(group.group_id)
        return {"num.standby.replicas": str(count)}

    def _member_for(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
    ) -> StreamsMember:
        """The member that sent the heartbeat; a new one, not in the group yet, if it joins."""
        if request.member_epoch == JOIN_EPOCH:
            self.check_room(group)
            return group.members.get(request.member_id) or group.new_member(request.member_id)
        member = group.member(request.member_id)
        check_epoch(
            "streams", member, request.member_epoch, lambda: member.assigned.contains(request)
        )
        return member

    def _topology(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
    ) -> StreamsGroupTopologyValue:
        """The group's topology: the first one stays. Another one is refused, as in Kafka 4.3."""
        known = group.topology
        if request.topology is None:
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            return known
        said = topology_from(request.topology)
        if known is None:
            return said
        if known.epoch > said.epoch:
            return known
        same = by_id(known) == by_id(said)
        if known.epoch != said.epoch or not same:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
        return known

    def _configured(
        self, group: StreamsGroup, topology: StreamsGroupTopologyValue
    ) -> tuple[int, ConfiguredTopology]:
        """A hash of the topics as they are now, and the topology with them."""
        configured = group.configured
        if configured is not None and not group.is_metadata_stale:
            return group.metadata_hash, configured
        hashed = metadata_hash(required_topics(topology), self._topics)
        if configured is None or hashed != group.metadata_hash:
            configured = configure(topology, self._topics.partition_count)
        return hashed, configured

    def _look_at_topics(
        self,
        changes: Changes[StreamsGroup],
        hashed: int,
        configured: ConfiguredTopology,
        *,
        bump: bool,
    ) -> None:
        """Step 2."""
        group, group_id = changes.group, changes.group.group_id
        group.configured, group.is_metadata_stale = configured, False
        validated = configured.epoch if configured.is_ready else NO_TOPOLOGY_EPOCH
        configs = self._assignment_configs(group)
        before = group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
        if bump or (hashed, validated, configs) != before:
            changes.add(
                streams_records.group_epoch(group_id, group.epoch + 1, hashed, validated, configs)
            )

    def _delay_first_assignment(self, group: StreamsGroup) -> None:
        delay_ms = self._overrides.streams_initial_rebalance_delay_ms(group.group_id)
        if delay_ms > 0 and not group.initial_delay.is_set:
            group.initial_delay.expire = lambda: self._delay_is_over(group)
            self._services.sessions.set(group.initial_delay, delay_ms / 1000)

    def _delay_is_over(self, group: StreamsGroup) -> None:
        """The first target, for all who have come meanwhile."""
        if group.is_empty or group.configured is None:
            return
        changes = self.changes(group)
        try:
            self._assign(changes, group.configured, [])
            self.commit(changes)
        except KafkaError:
            pass  # the next heartbeat will

    def _assign(
        self,
        changes: Changes[StreamsGroup],
        configured: ConfiguredTopology,
        status: list[heartbeat_messages.Status],
    ) -> None:
        """Step 3."""
        group = changes.group
        if group.initial_delay.is_set:
            detail = "Assignment delayed due to the configured initial rebalance delay."
            status.append(status_of(Status.ASSIGNMENT_DELAYED, detail))
        elif group.epoch > group.assignment_epoch:
            if new_targets_are_due(self._services, group):
                computed = targets(group, configured)
                set_targets(self._services, changes, computed, streams_records.target)
            else:
                detail = "Assignment delayed due to the configured assignment interval."
                status.append(status_of(Status.ASSIGNMENT_DELAYED, detail))

    def _reconcile(
        self,
        changes: Changes[StreamsGroup],
        member_id: str,
        owned: Tasks | None,
        processes: TaskProcesses,
    ) -> StreamsMember:
        """Step 4. Returns the member as it is then."""
        group = changes.group
        member = group.members[member_id]
        if member.is_reconciled_to(group.assignment_epoch):
            return member
        # Until the first target is computed, there is nothing to have.
        is_delayed = group.initial_delay.is_set
        around = Surroundings(
            target=Tasks() if is_delayed else group.targets.get(member_id, Tasks()),
            target_epoch=group.assignment_epoch,
            owned=owned,
            active_process=processes.active_process,
            has_standby=processes.has_standby,
            has_warmup=processes.has_warmup,
        )
        updated = reconcile(member, around)
        if updated != member:
            changes.add(streams_records.current_assignment(group.group_id, updated))
        return group.members[member_id]

    def _response(
        self,
        group: StreamsGroup,
        before: StreamsMember,
        member: StreamsMember,
        request: StreamsGroupHeartbeatRequest,
    ) -> StreamsGroupHeartbeatResponse:
        response = StreamsGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self.heartbeat_interval_ms(group),
        )
        if request.member_epoch == JOIN_EPOCH or member.assigned != before.assigned:
            made = heartbeat_messages.TaskIds
            response.active_tasks = listed(made, member.assigned.active)
            response.standby_tasks = listed(made, member.assigned.standby)
            response.warmup_tasks = listed(made, member.assigned.warmup)
            if member.user_endpoint is not None:
                group.endpoint_epoch += 1
        if group.endpoint_epoch != request.endpoint_information_epoch:
            response.partitions_by_user_endpoint = endpoints_of(group, self._topics)
        response.endpoint_information_epoch = group.endpoint_epoch
        return response

    # Leaving, silence

    def leave(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
    ) -> StreamsGroupHeartbeatResponse:
        """A member goes. KafkaError(UNKNOWN_MEMBER_ID)."""
        if request.shutdown_application:
            group.request_shutdown(request.member_id)
        self.remove(group, [group.member(request.member_id)])
        return StreamsGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=request.member_epoch,
        )

    def _raise_epoch(self, changes: Changes[StreamsGroup]) -> None:
        """With the topics as they were: the next heartbeat looks at them."""
        group = changes.group
        changes.add(
            streams_records.group_epoch(
                group.group_id,
                group.epoch + 1,
                group.metadata_hash,
                group.validated_topology_epoch,
                group.assignment_configs,
            )
        )

    def watch(self, group: StreamsGroup) -> None:
        group.name_of = self._topics.topic_name
        super().watch(group)


def _changes_nothing(
    member: StreamsMember, caller: Caller, request: StreamsGroupHeartbeatRequest
) -> bool:
    """True if the heartbeat only says that the member is there. Nearly every heartbeat is such a
    one."""
    return (
        request.member_epoch == member.member_epoch
        and request.active_tasks is request.standby_tasks is request.warmup_tasks is None
        and request.process_id in (None, member.process_id)
        and request.user_endpoint is None
        and request.client_tags is None
        and request.rack_id is None
        and request.rebalance_timeout_ms == -1
        and not request.shutdown_application
        and caller.client_id == member.client_id
        and shown_host(caller) == member.client_host
    )
