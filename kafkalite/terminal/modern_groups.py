"""Share groups and groups of Kafka Streams, which librdkafka does not list, and states that it
has no name for.

Each broker is asked for those that it coordinates, by messages of our own (KIP-932, KIP-1071).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from kafkalite.terminal.connection import BrokerGone, Connection
from kafkalite.terminal.group_views import UNNAMED, Group, Member, member_of
from kafkalite.terminal.kafka import Kafka, Refused
from kafkalite.terminal.offsets import Place
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

_TYPES: Final = ("share", "streams")
_GONE: Final = ErrorCode.GROUP_ID_NOT_FOUND


class Listed(NamedTuple):
    """A group's type and state, and the node that coordinates it."""

    type: str
    state: str
    node: int


class Progress(NamedTuple):
    """The first offset that a share group may still deliver, and its lag; None if not known."""

    start: int | None
    lag: int | None


class ModernGroups(ExitStack):
    """Connections to the brokers of a Kafka while its groups are looked at.

    Methods raise Refused, and UnknownSetting where only librdkafka knows how to get in.
    """

    def __init__(self, kafka: Kafka) -> None:
        super().__init__()
        self._kafka = kafka
        self._connections: dict[int, Connection] = {}

    def listed(self) -> Mapping[str, Listed]:
        """The groups of both types on all brokers, by id; none of a broker that is too old."""
        return self._listed

    def named(self, group: Group) -> Group:
        """A group of consumers, whose state has a name unless the broker is too old."""
        if group.state != UNNAMED or group.group_id not in self._all:
            return group
        return replace(group, state=self._all[group.group_id].state or UNNAMED)

    @cached_property
    def _listed(self) -> dict[str, Listed]:
        return {name: each for name, each in self._all.items() if each.type in _TYPES}

    @cached_property
    def _all(self) -> dict[str, Listed]:
        return {
            group.group_id: Listed(group.group_type.lower(), group.group_state, node)
            for node in sorted(self._kafka.metadata().brokers)
            for group in self._groups_of(node)
        }

    def _groups_of(self, node: int) -> list[Any]:
        answer = self._ask(node, ListGroupsRequest(), "groups")
        _check(answer.error_code, None, "groups")
        groups: list[Any] = answer.groups
        return groups

    def described(self, names: Iterable[str]) -> list[Group]:
        """These groups in full, without those that are gone."""
        found: list[Group] = []
        for name in names:
            kind, _, node = self._listed[name]
            request, view = _DESCRIBED[kind]
            [group] = self._ask(node, request(group_ids=[name]), f"group {name!r}").groups
            if group.error_code != _GONE:
                _check(group.error_code, group.error_message, f"group {name!r}")
                found.append(view(group, node))
        return found

    def progress(self, name: str) -> dict[Place, Progress]:
        """The progress of a share group in each partition."""
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
        request = DescribeShareGroupOffsetsRequest(groups=[asked])
        [group] = self._ask(self._listed[name].node, request, f"group {name!r}").groups
        if group.error_code == _GONE:
            return {}
        _check(group.error_code, group.error_message, f"group {name!r}")
        return {
            (topic.topic_name, each.partition_index): Progress(
                _known(each.start_offset), _known(each.lag)
            )
            for topic in group.topics
            for each in topic.partitions
            if not each.error_code
        }

    def _ask(self, node: int, body: object, what: str) -> Any:
        try:
            if node not in self._connections:
                broker = self._kafka.metadata().brokers[node]
                connection = Connection(broker.host, broker.port, self._kafka.target.settings)
                self._connections[node] = self.enter_context(closing(connection))
            return self._connections[node].ask(body)
        except BrokerGone as error:
            raise Refused(f"{what}: {error}") from None


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _check(error_code: int, message: str | None, what: str) -> None:
    if error_code:
        name = ErrorCode(error_code).name
        raise Refused(f"{what}: {message} ({name})" if message else f"{what}: {name}")


def _share_group(group: Any, node: int) -> Group:
    members = [
        member_of(
            each.member_id,
            each.client_id,
            each.client_host,
            None,
            sorted(
                (topic.topic_name, index)
                for topic in each.assignment.topic_partitions
                for index in topic.partitions
            ),
        )
        for each in group.members
    ]
    return _view(group, "share", node, group.assignor_name or None, members)


def _streams_group(group: Any, node: int) -> Group:
    """A member's partitions are those that its active tasks read."""
    subtopologies = group.topology.subtopologies if group.topology is not None else None
    topics = {
        each.subtopology_id: [
            *each.source_topics,
            *(topic.name for topic in each.repartition_source_topics),
        ]
        for each in subtopologies or ()
    }
    members: list[Member] = []
    for each in group.members:
        tasks = sorted(
            (active.subtopology_id, index)
            for active in each.assignment.active_tasks
            for index in active.partitions
        )
        members.append(
            Member(
                each.member_id,
                each.client_id,
                each.client_host.removeprefix("/"),
                each.instance_id,
                tuple((topic, index) for name, index in tasks for topic in topics.get(name, ())),
                tuple(f"{name}_{index}" for name, index in tasks),
            )
        )
    return _view(group, "streams", node, None, members)


def _view(
    group: Any, kind: str, node: int, assignor: str | None, members: Sequence[Member]
) -> Group:
    by_id = sorted(members, key=lambda each: each.member_id)
    return Group(group.group_id, kind, group.group_state, node, assignor, tuple(by_id))


_DESCRIBED: Final[Mapping[str, tuple[Callable[..., object], Callable[[Any, int], Group]]]] = {
    "share": (ShareGroupDescribeRequest, _share_group),
    "streams": (StreamsGroupDescribeRequest, _streams_group),
}
