"""A streams group (KIP-1071): the instances of a Kafka Streams application, and their tasks.

The state is not kept but follows, as that of a consumer group, with one more:

    Empty         no members
    NotReady      topics that the topology needs are missing, or are not as it needs them
    Assigning     the target is older than the group epoch
    Reconciling   some member has not got to the target yet
    Stable        all have

What a group is, is what its records in `__consumer_offsets` say: they are applied here when they
are read back and likewise when they are written. Source: Kafka's StreamsGroup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import Enum
from typing import Literal
from uuid import UUID

from kafkalite.group_coordinator import state_log, streams_records
from kafkalite.group_coordinator.consumer_member import LEAVE_EPOCH
from kafkalite.group_coordinator.offset_checks import (
    MayCommit,
    check_commit_epoch,
    check_fetch,
    committing_member,
)
from kafkalite.group_coordinator.streams_member import (
    StreamsMember,
    StreamsMemberState,
    active_tasks,
)
from kafkalite.group_coordinator.streams_tasks import (
    AssignedTasks,
    TaskId,
    Tasks,
    partitions_of,
    task_ids,
)
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredTopology,
    required_topics,
    source_names,
)
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.streams_group_member_metadata import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.streams_group_metadata import (
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

FIRST_EPOCH = 1  # 0 is that of a member that joins; nothing has been assigned in this one

_STATES = {state.value: state for state in StreamsMemberState}


class StreamsGroupState(Enum):
    """The values are the names that ListGroups and StreamsGroupDescribe answer with."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class StreamsTimers:
    """The times in which a member must be heard of, and give up tasks."""

    __slots__ = ("revoke", "session")

    def __init__(self, expire: Callable[[], None]) -> None:
        self.session = Timer(expire)
        self.revoke = Timer(expire)

    def cancel(self) -> None:
        self.session.cancel()
        self.revoke.cancel()


class StreamsGroup:
    """One group. What stands last in `__init__` is not in the log."""

    group_type: Literal["streams"] = "streams"
    protocol_type = "streams"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_topology_epoch = 0
        self.assignment_configs: Mapping[str, str] = {}
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.topology: StreamsGroupTopologyValue | None = None
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, Tasks] = {}
        self._active: dict[TaskId, str] = {}
        self._standby: Counter[tuple[TaskId, str]] = Counter()
        self._warmup: Counter[tuple[TaskId, str]] = Counter()
        # Not in the log.
        self.configured: ConfiguredTopology | None = None
        self.is_metadata_stale = True
        self.endpoint_epoch = 0
        self.name_of: Callable[[UUID], str | None] = lambda topic_id: None
        self.shutdown_requested_by: str | None = None
        self.initial_delay = Timer(lambda: None)
        self.timers: dict[str, StreamsTimers] = {}

    @property
    def state(self) -> StreamsGroupState:
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def required_topics(self) -> frozenset[str]:
        return frozenset() if self.topology is None else required_topics(self.topology)

    def depends_on(self, topics: Collection[str]) -> bool:
        """True if it matters to the group what becomes of these topics."""
        return not self.required_topics.isdisjoint(topics)

    # State from the records

    def apply(self, key: object, value: object | None) -> None:
        """Take in a record of this group."""
        match key, value:
            case StreamsGroupMetadataKey(), StreamsGroupMetadataValue():
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
                self.validated_topology_epoch = value.validated_topology_epoch
                self.assignment_configs = {
                    config.key: config.value for config in value.last_assignment_configs or ()
                }
            case StreamsGroupTopologyKey(), _:
                assert value is None or isinstance(value, StreamsGroupTopologyValue)
                self.topology = value
            case StreamsGroupMemberMetadataKey(), StreamsGroupMemberMetadataValue():
                self._apply_member(key.member_id, value)
            case StreamsGroupMemberMetadataKey(), None:
                self._remove_member(key.member_id)
            case (
                StreamsGroupTargetAssignmentMetadataKey(),
                StreamsGroupTargetAssignmentMetadataValue(),
            ):
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
            case StreamsGroupTargetAssignmentMemberKey(), StreamsGroupTargetAssignmentMemberValue():
                self.targets[key.member_id] = Tasks(
                    partitions_of(value.active_tasks),
                    partitions_of(value.standby_tasks),
                    partitions_of(value.warmup_tasks),
                )
            case StreamsGroupTargetAssignmentMemberKey(), None:
                self.targets.pop(key.member_id, None)
            case StreamsGroupCurrentMemberAssignmentKey(), _:
                assert value is None or isinstance(value, StreamsGroupCurrentMemberAssignmentValue)
                self._apply_assignment(key.member_id, value)
            case _:
                pass  # tombstones of what the group as a whole is

    def _apply_member(self, member_id: str, value: StreamsGroupMemberMetadataValue) -> None:
        endpoint = value.user_endpoint
        self._replace(
            replace(
                self.members.get(member_id) or StreamsMember(member_id=member_id),
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                topology_epoch=value.topology_epoch,
                process_id=value.process_id,
                user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
                client_tags={tag.key: tag.value for tag in value.client_tags},
            )
        )

    def _apply_assignment(
        self, member_id: str, value: StreamsGroupCurrentMemberAssignmentValue | None
    ) -> None:
        old = self.members.get(member_id)
        if value is not None:
            assigned, pending = streams_records.assigned_from(value)
            self._replace(
                replace(
                    old or StreamsMember(member_id=member_id),
                    member_epoch=value.member_epoch,
                    previous_member_epoch=value.previous_member_epoch,
                    state=_STATES.get(value.state, StreamsMemberState.UNKNOWN),
                    assigned=assigned,
                    pending_revocation=pending,
                )
            )
        elif old is not None:
            self._replace(
                replace(
                    old,
                    member_epoch=LEAVE_EPOCH,
                    previous_member_epoch=LEAVE_EPOCH,
                    assigned=AssignedTasks(),
                    pending_revocation=AssignedTasks(),
                )
            )

    def _replace(self, member: StreamsMember) -> None:
        self._release(self.members.get(member.member_id))
        self.members[member.member_id] = member
        process_id = member.process_id
        for task in active_tasks(member):
            self._active[task] = process_id
        for tasks in (member.assigned, member.pending_revocation):
            self._standby.update((task, process_id) for task in task_ids(tasks.standby))
            self._warmup.update((task, process_id) for task in task_ids(tasks.warmup))

    def _release(self, member: StreamsMember | None) -> None:
        if member is None:
            return
        process_id = member.process_id
        for task in active_tasks(member):
            if self._active.get(task) == process_id:
                del self._active[task]
        for tasks in (member.assigned, member.pending_revocation):
            self._standby.subtract((task, process_id) for task in task_ids(tasks.standby))
            self._warmup.subtract((task, process_id) for task in task_ids(tasks.warmup))

    def _remove_member(self, member_id: str) -> None:
        self._release(self.members.pop(member_id, None))
        self.targets.pop(member_id, None)
        timers = self.timers.pop(member_id, None)
        if timers is not None:
            timers.cancel()
        if not self.members:
            self.shutdown_requested_by = None

    # State that follows from it

    def active_process(self, task: TaskId) -> str | None:
        """The process in which a task is active, or has yet to end."""
        return self._active.get(task)

    def has_standby(self, task: TaskId, process_id: str) -> bool:
        return self._standby[task, process_id] > 0

    def has_warmup(self, task: TaskId, process_id: str) -> bool:
        return self._warmup[task, process_id] > 0

    def _task_of(self, topic: str, partition: int) -> TaskId | None:
        """The task that reads a partition."""
        for subtopology in () if self.topology is None else self.topology.subtopologies:
            if topic in source_names(subtopology):
                return TaskId(subtopology.subtopology_id, partition)
        return None

    def is_subscribed_to(self, topic: str) -> bool:
        return bool(self.members) and self._task_of(topic, 0) is not None

    # Offsets and administration

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> MayCommit | None:
        """KafkaError unless this caller may commit; what it may commit for, if not everything."""
        member = committing_member(
            self.members,
            member_id,
            group_instance_id,
            member_epoch,
            is_transactional=is_transactional,
        )
        if member is None:
            return None
        stale = check_commit_epoch(
            member, member_epoch, is_transactional=is_transactional, api_version=api_version
        )
        if stale is None:
            return None
        if self.topology is None:
            raise KafkaError(stale)

        def may_commit(topic_id: UUID, partition: int) -> ErrorCode:
            name = self.name_of(topic_id)
            task = None if name is None else self._task_of(name, partition)
            since = None if task is None else member.assignment_epoch(task)
            return stale if since is None or member_epoch < since else ErrorCode.NONE

        return may_commit

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """KafkaError unless an administrator asks, or a member that is up to date."""
        if check_fetch(self.members, member_id, member_epoch) is not None:
            raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH)

    def validate_offset_delete(self) -> None:
        """Never refused: what members read is known."""

    def validate_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        return committed_at_ms

    def tombstones(self) -> list[state_log.StateRecord]:
        """The records that end the group in the log."""
        changes = streams_records.no_group(self.group_id, self.members)
        return [state_log.encoded(*change) for change in changes]
