"""StreamsGroupTargetAssignmentMember (record type 21 of __consumer_offsets), version 0,
flexible since 0.

The target tasks of a member (KIP-1071).
"""

from kafkalite.wire.fields import int32, string
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(21)
class StreamsGroupTargetAssignmentMemberKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class TaskIds:
    subtopology_id: str = field(string)
    partitions: list[int] = array(int32)


@record_value(21, versions=(0, 0), flexible=0)
class StreamsGroupTargetAssignmentMemberValue:
    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)
