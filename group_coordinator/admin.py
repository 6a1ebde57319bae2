"""Descriptions of groups for administrators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar
from uuid import UUID

from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_group import ClassicGroupState as State
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import merged
from kafkalite.group_coordinator.heartbeat_checks import group_not_found
from kafkalite.group_coordinator.modern_group import ModernGroupState
from kafkalite.group_coordinator.shard import Group
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import consumer_group_describe as consumer
from kafkalite.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafkalite.wire.messages.list_groups import ListedGroup

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1  # ConsumerGroupDescribe's member types
GROUP_ID_NOT_FOUND_SINCE = 6  # DescribeGroups; before, an unknown group is a dead one
# States and types of groups, in lower case.
_WORDS: Final = frozenset(
    [
        *("classic", "consumer", "share", "streams"),
        *(state.value.lower() for kind in (State, ModernGroupState) for state in kind),
    ]
)
# Groups, and words of a filter, that are looked at in one step.
_AT_ONCE: Final = 256


D_co = TypeVar("D_co", covariant=True)
T = TypeVar("T")
P_co = TypeVar("P_co", covariant=True)


class MakesRefusal(Protocol[D_co]):
    """A class of messages: a group, or why it is not described."""

    def __call__(self, *, group_id: str, error_code: int, error_message: str | None) -> D_co: ...


class MakesPartitions(Protocol[P_co]):
    """A class of messages: partitions of a topic."""

    def __call__(self, *, topic_id: UUID, topic_name: str, partitions: list[int]) -> P_co: ...


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """A group for DescribeGroups."""
    if not isinstance(group, ClassicGroup):
        described = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = group_not_found("classic", group_id, group).message
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


def described_or_refused(
    group_id: str, describe: Callable[[], T], refused: MakesRefusal[D_co]
) -> T | D_co:
    """A group as `describe` says, or the KafkaError that it raises."""
    try:
        return describe()
    except KafkaError as error:
        return refused(group_id=group_id, error_code=error.code, error_message=error.message)


def describe_consumer(
    group: ConsumerGroup, topics: TopicsView, default_assignor: str
) -> consumer.DescribedGroup:
    """A group for ConsumerGroupDescribe."""
    return consumer.DescribedGroup(
        group_id=group.group_id,
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
    return consumer.Assignment(
        topic_partitions=listed_with_names(consumer.TopicPartitions, assigned, topics)
    )


def listed_with_names(
    made: MakesPartitions[P_co], assigned: Mapping[UUID, Iterable[int]], topics: TopicsView
) -> list[P_co]:
    """Partitions of the topics that still exist, as a list of messages."""
    return [
        made(topic_id=topic_id, topic_name=name, partitions=sorted(partitions))
        for topic_id, partitions in assigned.items()
        if (name := topics.topic_name(topic_id)) is not None
    ]


def listed(
    groups: Iterable[Group], states: Sequence[str], types: Sequence[str]
) -> Generator[None, None, list[ListedGroup]]:
    """Groups for ListGroups, some at a time."""
    wanted_states = yield from _wanted(states)
    wanted_types = yield from _wanted(types)
    found: list[ListedGroup] = []
    for count, group in enumerate(groups, 1):
        if (not states or group.state.value.lower() in wanted_states) and (
            not types or group.group_type.lower() in wanted_types
        ):
            found.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=group.group_type,
                )
            )
        if not count % _AT_ONCE:
            yield
    return found


def _wanted(names: Sequence[str]) -> Generator[None, None, set[str]]:
    """The words of a filter that a group can have. Filters ignore case, as Kafka's do."""
    wanted: set[str] = set()
    for count, name in enumerate(names, 1):
        word = name.lower()
        if word in _WORDS:
            wanted.add(word)
        if not count % _AT_ONCE:
            yield
    return wanted
