"""StreamsGroupCurrentMemberAssignment (record type 22 of __consumer_offsets), version 0,
flexible since 0.

The tasks that a member has now, and has still to give back (KIP-1071).
"""

from kafkalite.wire.fields import int8, int32, string
from kafkalite.wire.schema import array, field, nullable_array, record_key, record_value, struct


@record_key(22)
class StreamsGroupCurrentMemberAssignmentKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class TaskIds:
    subtopology_id: str = field(string)
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = nullable_array(int32, tag=0, default=[])


@record_value(22, versions=(0, 0), flexible=0)
class StreamsGroupCurrentMemberAssignmentValue:
    member_epoch: int = field(int32)
    previous_member_epoch: int = field(int32)
    state: int = field(int8)
    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)
    active_tasks_pending_revocation: list[TaskIds] = array(TaskIds)
    standby_tasks_pending_revocation: list[TaskIds] = array(TaskIds)
    warmup_tasks_pending_revocation: list[TaskIds] = array(TaskIds)
