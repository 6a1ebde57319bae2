"""Descriptions of groups for administrators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_group import ClassicGroupState as State
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import merged
from kafkalite.group_coordinator.shard import Group
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import consumer_group_describe as consumer
from kafkalite.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafkalite.wire.messages.list_groups import ListedGroup

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1  # ConsumerGroupDescribe's member types
GROUP_ID_NOT_FOUND_SINCE = 6  # DescribeGroups; before, an unknown group is a dead one


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """A group for DescribeGroups."""
    if not isinstance(group, ClassicGroup):
        described = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = _not_there(group_id, group, "classic")
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


def _not_there(group_id: str, group: Group | None, kind: str) -> str:
    if group is None:
        return f"Group {group_id} not found."
    return f"Group {group_id} is not a {kind} group."


def describe_consumer(
    group_id: str, group: Group | None, topics: TopicsView, default_assignor: str
) -> consumer.DescribedGroup:
    """A group for ConsumerGroupDescribe."""
    if not isinstance(group, ConsumerGroup):
        return consumer.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=_not_there(group_id, group, "consumer"),
        )
    return consumer.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or default_assignor,
        members=[
            consumer.Member(
                member_id=member.member_id,
                instance_id=member.instance_id,
                rack_id=member.rack_id,
                member_epoch=member.member_epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=sorted(member.subscribed_topic_names),
                subscribed_topic_regex=member.subscribed_topic_regex,
                assignment=_assignment(merged(member.assigned, member.pending_revocation), topics),
                target_assignment=_assignment(group.targets.get(member.member_id, {}), topics),
                member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
            )
            for member in group.members.values()
        ],
    )


def _assignment(
    assigned: Mapping[UUID, Collection[int]], topics: TopicsView
) -> consumer.Assignment:
    names = {topic_id: topics.topic_name(topic_id) for topic_id in assigned}
    return consumer.Assignment(
        topic_partitions=[
            consumer.TopicPartitions(
                topic_id=topic_id, topic_name=name, partitions=sorted(assigned[topic_id])
            )
            for topic_id, name in names.items()
            if name is not None
        ]
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
