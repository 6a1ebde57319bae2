"""What administrators are told about groups."""

from collections.abc import Iterable, Sequence

from kafkalite.group_coordinator.classic_group import State
from kafkalite.group_coordinator.shard import Group
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafkalite.wire.messages.list_groups import ListedGroup

GROUP_ID_NOT_FOUND_SINCE = 6  # DescribeGroups; before, an unknown group is a dead one


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """A group for DescribeGroups."""
    if group is None:
        described = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group_id} not found."
        return described
    stable = group.state is State.STABLE
    protocol_name = group.protocol_name if stable else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol_name),
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def listed(
    groups: Iterable[Group], states: Sequence[str], types: Sequence[str]
) -> list[ListedGroup]:
    """Groups for ListGroups. Filters ignore case, as Kafka's do."""
    wanted_states = {state.lower() for state in states}
    wanted_types = {type_.lower() for type_ in types}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=group.group_type,
        )
        for group in groups
        if (not wanted_states or group.state.value.lower() in wanted_states)
        and (not wanted_types or group.group_type.lower() in wanted_types)
    ]
