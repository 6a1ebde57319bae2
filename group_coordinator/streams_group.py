"""A streams group (KIP-1071): the instances of a Kafka Streams application, and their tasks.

Its epochs, states and records are those of modern_group.py. Source: Kafka's StreamsGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from kafkalite.group_coordinator import streams_records
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_processes import TaskProcesses
from kafkalite.group_coordinator.streams_tasks import AssignedTasks, TaskId, Tasks, partitions_of
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredTopology,
    required_topics,
    source_names,
)
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.messages.stored.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.streams_group_member_metadata import (
    StreamsGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.streams_group_metadata import StreamsGroupMetadataValue
from kafkalite.wire.messages.stored.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberValue,
)
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)


class StreamsGroup(ModernGroup[StreamsMember, Tasks]):
    """One group. Everything after `processes` is not in the log, nor is `timers`."""

    group_type: Literal["streams"] = "streams"
    protocol_type = "streams"
    records = streams_records.RECORDS

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.validated_topology_epoch = 0
        self.assignment_configs: Mapping[str, str] = {}
        self.topology: StreamsGroupTopologyValue | None = None
        self.processes = TaskProcesses()
        self.configured: ConfiguredTopology | None = None
        self.configured_at = -1
        """The end of the group's partition when that was decided."""
        self.endpoint_epoch = 0
        self.name_of: Callable[[UUID], str | None] = lambda topic_id: None
        self.shutdown_requested_by: str | None = None
        self.initial_delay = Timer(lambda: None)

    def request_shutdown(self, member_id: str) -> None:
        """A member wants all of them to stop; each is told so. The first one's wish counts."""
        self.shutdown_requested_by = self.shutdown_requested_by or member_id
        self.answers.clear()

    def close_timers(self) -> None:
        super().close_timers()
        self.initial_delay.close()

    @property
    def has_its_topics(self) -> bool:
        return self.topology is not None and self.topology.epoch == self.validated_topology_epoch

    @property
    def required_topics(self) -> frozenset[str]:
        return frozenset() if self.topology is None else required_topics(self.topology)

    def sources(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Each subtopology's id, and the topics that it reads."""
        for subtopology in () if self.topology is None else self.topology.subtopologies:
            yield subtopology.subtopology_id, source_names(subtopology)

    def depends_on(self, topics: Collection[str]) -> bool:
        return not self.required_topics.isdisjoint(topics)

    # State from the records

    def new_member(self, member_id: str) -> StreamsMember:
        return StreamsMember(member_id=member_id)

    def _apply_metadata(self, value: StreamsGroupMetadataValue) -> None:
        super()._apply_metadata(value)
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = {
            config.key: config.value for config in value.last_assignment_configs or ()
        }

    def _with_metadata(
        self, member: StreamsMember, value: StreamsGroupMemberMetadataValue
    ) -> StreamsMember:
        endpoint = value.user_endpoint
        return replace(
            member,
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

    def _target_from(self, value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
        return Tasks(
            partitions_of(value.active_tasks),
            partitions_of(value.standby_tasks),
            partitions_of(value.warmup_tasks),
        )

    def _with_assignment(
        self, member: StreamsMember, value: StreamsGroupCurrentMemberAssignmentValue
    ) -> StreamsMember:
        assigned, pending = streams_records.assigned_from(value)
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=streams_records.RECORDS.state_of(value.state),
            assigned=assigned,
            pending_revocation=pending,
        )

    def _without_assignment(self, member: StreamsMember) -> StreamsMember:
        return replace(
            super()._without_assignment(member),
            assigned=AssignedTasks(),
            pending_revocation=AssignedTasks(),
        )

    def _apply_further(
        self, key: object, value: StreamsGroupTopologyValue | None, now_ms: int
    ) -> None:
        self.topology = value

    def _further_tombstones(self) -> Iterable[Change]:
        return [(StreamsGroupTopologyKey(group_id=self.group_id), None)]

    def _take(self, member: StreamsMember) -> None:
        self.processes.take(member)

    def _release(self, member: StreamsMember) -> None:
        self.processes.release(member)

    def _remove(self, member_id: str) -> None:
        super()._remove(member_id)
        if not self.members:
            self.shutdown_requested_by = None

    # State that follows from it

    def _task_of(self, topic: str, partition: int) -> TaskId | None:
        """The task that reads a partition."""
        for subtopology in () if self.topology is None else self.topology.subtopologies:
            if topic in source_names(subtopology):
                return subtopology.subtopology_id, partition
        return None

    def is_subscribed_to(self, topic: str) -> bool:
        return bool(self.members) and self._task_of(topic, 0) is not None

    def assigned_since(self, member: StreamsMember, topic_id: UUID, partition: int) -> int | None:
        name = self.name_of(topic_id)
        task = None if name is None else self._task_of(name, partition)
        return None if task is None else member.assignment_epoch(task)
