"""The rules of StreamsGroupHeartbeat, and of silence, for streams groups (KIP-1071).

A heartbeat does in this order what there is to do, all of it written as one batch:

    1. create or change the member; take in the topology
    2. look at the topics that the topology needs; whatever is another now raises the group epoch
    3. compute a new target, if the group epoch is ahead of it
    4. bring the member one step nearer to its target

Internal topics that are missing are returned, and created after the answer is made.
Source of the rules: Kafka's GroupMetadataManager (streamsGroup...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafkalite.group_coordinator import state_log, streams_records
from kafkalite.group_coordinator.callers import Caller
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH
from kafkalite.group_coordinator.heartbeat_checks import group_full, unknown_member
from kafkalite.group_coordinator.streams_answers import (
    endpoints_of,
    listed,
    listed_active,
    status_of,
    topology_from,
)
from kafkalite.group_coordinator.streams_changes import (
    by_id,
    owned_by,
    targets,
    updated,
)
from kafkalite.group_coordinator.streams_checks import check_epoch, check_tasks
from kafkalite.group_coordinator.streams_group import StreamsGroup, StreamsTimers
from kafkalite.group_coordinator.streams_member import (
    StreamsMember,
    StreamsMemberState,
    Surroundings,
    check_state,
    reconcile,
)
from kafkalite.group_coordinator.streams_tasks import Tasks
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredTopology,
    InternalTopic,
    Status,
    configure,
    required_topics,
)
from kafkalite.group_coordinator.subscriptions import metadata_hash
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import streams_group_heartbeat as heartbeat_messages
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyValue,
)
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

NO_TOPOLOGY_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a heartbeat, and the topics to create."""

    response: StreamsGroupHeartbeatResponse
    to_create: Mapping[str, InternalTopic]


class StreamsProtocol:
    """The rules, for all streams groups of a coordinator.

    `save(group_id, records)` makes records durable.
    """

    def __init__(
        self,
        config: GroupConfig,
        overrides: GroupOverrides,
        timers: Timers,
        topics: TopicsView,
        now_ms: Callable[[], int],
        save: Callable[[str, Sequence[state_log.StateRecord]], None],
    ) -> None:
        self._config = config
        self._overrides = overrides
        self._timers = timers
        self._topics = topics
        self._now_ms = now_ms
        self._save = save

    # StreamsGroupHeartbeat

    def heartbeat(
        self,
        changes: Changes[StreamsGroup],
        caller: Caller,
        request: StreamsGroupHeartbeatRequest,
        *,
        is_new: bool,
    ) -> Answered:
        """A member is there, comes, or changes. KafkaError when it is refused."""
        group = changes.group
        owned = owned_by(request)
        before = self._member_for(group, request, owned or Tasks())
        check_state(before, owned)
        topology = self._topology(group, request)
        hashed, configured = self._configured(group, topology)
        if configured.is_ready and owned is not None:
            check_tasks(configured.subtopologies, owned.active, owned.standby, owned.warmup)
        # Nothing is refused from here on, unless it cannot be written.
        was_empty = group.is_empty
        member = updated(before, caller, request)
        bump = member != before
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
        member = self._reconcile(changes, request.member_id, owned)
        self._commit(changes)
        self.put_off(group, member.member_id)
        self._watch_revocation(group, member)
        if request.shutdown_application:
            group.shutdown_requested_by = group.shutdown_requested_by or member.member_id
        response = self._response(group, before, member, request, is_new=is_new)
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
            group.endpoint_epoch, group.shutdown_requested_by = 0, None
        return Answered(response, configured.missing)

    def _member_for(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest, owned: Tasks
    ) -> StreamsMember:
        """The member that beats; a new one, which is in no group yet, if it joins."""
        member = group.members.get(request.member_id)
        if request.member_epoch == JOIN_EPOCH:
            largest = self._config.group_streams_max_size
            if len(group.members) >= largest:
                raise group_full("streams", largest)
            member = member or StreamsMember(member_id=request.member_id)
        elif member is None:
            raise unknown_member(group.group_id, request.member_id)
        check_epoch(member, request.member_epoch, owned)
        return member

    def _topology(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
    ) -> StreamsGroupTopologyValue:
        """The group's topology; the first one said is taken in, another refused as in Kafka 4.3."""
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
        configs = {
            "num.standby.replicas": str(self._overrides.streams_num_standby_replicas(group_id))
        }
        before = group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
        if bump or (hashed, validated, configs) != before:
            changes.add(
                streams_records.group(group_id, group.epoch + 1, hashed, validated, configs)
            )

    def _delay_first_assignment(self, group: StreamsGroup) -> None:
        delay_ms = self._overrides.streams_initial_rebalance_delay_ms(group.group_id)
        if delay_ms > 0 and not group.initial_delay.is_set:
            group.initial_delay.expire = lambda: self._delay_is_over(group)
            self._timers.set(group.initial_delay, delay_ms / 1000)

    def _delay_is_over(self, group: StreamsGroup) -> None:
        """The first target, for all who have come meanwhile."""
        if group.is_empty or group.configured is None:
            return
        changes = Changes(group)
        try:
            self._assign(changes, group.configured, [])
            self._commit(changes)
        except KafkaError:
            pass  # the next heartbeat will

    def _assign(
        self,
        changes: Changes[StreamsGroup],
        configured: ConfiguredTopology,
        status: list[heartbeat_messages.Status],
    ) -> None:
        """Step 3."""
        group, group_id = changes.group, changes.group.group_id
        now_ms = self._now_ms()
        if group.initial_delay.is_set:
            detail = "Assignment delayed due to the configured initial rebalance delay."
            status.append(status_of(Status.ASSIGNMENT_DELAYED, detail))
            return
        if group.epoch <= group.assignment_epoch:
            return
        interval_ms = self._overrides.streams_assignment_interval_ms(group_id)
        if group.assigned_at_ms and now_ms < group.assigned_at_ms + interval_ms:
            detail = "Assignment delayed due to the configured assignment interval."
            status.append(status_of(Status.ASSIGNMENT_DELAYED, detail))
            return
        for member_id, target in targets(group, configured).items():
            if target != group.targets.get(member_id):
                changes.add(streams_records.target(group_id, member_id, target))
        changes.add(streams_records.assignment_epoch(group_id, group.epoch, now_ms))

    def _reconcile(
        self, changes: Changes[StreamsGroup], member_id: str, owned: Tasks | None
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
            active_process=group.active_process,
            has_standby=group.has_standby,
            has_warmup=group.has_warmup,
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
        *,
        is_new: bool,
    ) -> StreamsGroupHeartbeatResponse:
        response = StreamsGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._overrides.streams_heartbeat_interval_ms(group.group_id),
            active_tasks=None,
            standby_tasks=None,
            warmup_tasks=None,
            partitions_by_user_endpoint=None,
        )
        if request.member_epoch == JOIN_EPOCH or member.assigned != before.assigned:
            response.active_tasks = listed_active(member.assigned.active)
            response.standby_tasks = listed(member.assigned.standby)
            response.warmup_tasks = listed(member.assigned.warmup)
            if member.user_endpoint is not None:
                group.endpoint_epoch += 1
        if group.endpoint_epoch != request.endpoint_information_epoch:
            response.partitions_by_user_endpoint = endpoints_of(group, self._topics)
        if not is_new:
            response.endpoint_information_epoch = group.endpoint_epoch
        return response

    # Leaving, silence

    def leave(
        self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
    ) -> StreamsGroupHeartbeatResponse:
        """A member goes. KafkaError(UNKNOWN_MEMBER_ID)."""
        if request.shutdown_application:
            group.shutdown_requested_by = group.shutdown_requested_by or request.member_id
        if request.member_id not in group.members:
            raise unknown_member(group.group_id, request.member_id)
        self._remove(group, request.member_id)
        return StreamsGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            status=[],
            active_tasks=None,
            standby_tasks=None,
            warmup_tasks=None,
            partitions_by_user_endpoint=None,
        )

    def _remove(self, group: StreamsGroup, member_id: str) -> None:
        changes = Changes(group)
        changes.extend(streams_records.no_member(group.group_id, member_id))
        changes.add(
            streams_records.group(
                group.group_id,
                group.epoch + 1,
                group.metadata_hash,
                group.validated_topology_epoch,
                group.assignment_configs,
            )
        )
        self._commit(changes)

    def _expire(self, group: StreamsGroup, member_id: str) -> None:
        if member_id not in group.members:
            return
        try:
            self._remove(group, member_id)
        except KafkaError:
            self.put_off(group, member_id)  # it cannot be written now; it is tried again

    def _timers_of(self, group: StreamsGroup, member_id: str) -> StreamsTimers:
        timers = group.timers.get(member_id)
        if timers is None:
            timers = StreamsTimers(lambda: self._expire(group, member_id))
            group.timers[member_id] = timers
        return timers

    def put_off(self, group: StreamsGroup, member_id: str) -> None:
        """The member was heard of: its session begins anew."""
        if member_id in group.members:
            timeout_ms = self._overrides.streams_session_timeout_ms(group.group_id)
            self._timers.set(self._timers_of(group, member_id).session, timeout_ms / 1000)

    def _watch_revocation(self, group: StreamsGroup, member: StreamsMember) -> None:
        """A member must give up what it is asked to within its rebalance timeout."""
        timer = self._timers_of(group, member.member_id).revoke
        if member.state is not StreamsMemberState.UNREVOKED_TASKS:
            timer.cancel()
        elif not timer.is_set:
            self._timers.set(timer, member.rebalance_timeout_ms / 1000)

    def watch(self, group: StreamsGroup) -> None:
        """The group has been loaded, or is new: all sessions begin anew."""
        group.name_of = self._topics.topic_name
        for member in group.members.values():
            self.put_off(group, member.member_id)
            self._watch_revocation(group, member)

    def _commit(self, changes: Changes[StreamsGroup]) -> None:
        if changes.records:
            self._save(changes.group.group_id, changes.records)
