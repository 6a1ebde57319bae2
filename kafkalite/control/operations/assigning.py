"""Assigning the partitions of a consumer group by hand, in the place of its assignor (KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafkalite.control.answers import GroupView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.coordination import AssignGroup
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.views import group_of, partition_of, topic_of, viewing_group
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember
from kafkalite.requests.slices import in_slices_of_task


async def assign_group(cluster: ControlledCluster, request: AssignGroup) -> GroupView:
    """Have the members of a consumer group take these partitions, and no others.

    A member that is not named has none then. The group's assignor decides again when a member
    joins or goes, or a topic changes. Groups of the classic protocol assign in their leader.
    """
    broker = cluster.broker
    group = group_of(broker, request.group)
    if not isinstance(group, ConsumerGroup):
        raise Problem(
            "conflict",
            f"group {request.group} is a {group.group_type} group: its coordinator assigns nothing",
            hint="consumers with group.protocol=consumer have their partitions from the broker",
        )
    targets: dict[str, dict[UUID, frozenset[int]]] = {}
    taken: set[tuple[str, int]] = set()
    for name, topics in request.assignment.items():
        member = _member(group, name)
        if member.member_id in targets:
            raise Problem("invalid_assignment", f"{name} is named twice", value=name)
        targets[member.member_id] = _target(cluster, group, member, topics, taken)
    broker.services.group_coordinator.interventions.assign(group, targets)
    seen = viewing_group(broker, group_of(broker, request.group))
    return await in_slices_of_task(seen)


def _member(group: ConsumerGroup, name: str) -> ConsumerMember:
    """The member that is called so. Raises Problem."""
    found = [
        each
        for each in group.members.values()
        if name in (each.member_id, each.instance_id, each.client_id)
    ]
    if not found:
        raise not_found("member", name)
    if len(found) > 1:
        ids = ", ".join(sorted(each.member_id for each in found))
        raise Problem("conflict", f"{len(found)} members are called {name}", value=name, hint=ids)
    return found[0]


def _target(
    cluster: ControlledCluster,
    group: ConsumerGroup,
    member: ConsumerMember,
    topics: Mapping[str, Sequence[int]],
    taken: set[tuple[str, int]],
) -> dict[UUID, frozenset[int]]:
    """The target of a member; what it names is `taken` then. Raises Problem."""
    target: dict[UUID, frozenset[int]] = {}
    for topic, partitions in topics.items():
        topic_id = topic_of(cluster.broker, topic).topic_id
        if topic not in group.topics_of(member):
            raise Problem("conflict", f"{member.client_id} does not subscribe to {topic}")
        for index in partitions:
            partition_of(cluster.broker, topic, index)
            if (topic, index) in taken:
                name = f"{topic}-{index}"
                raise Problem("invalid_assignment", f"{name} is assigned twice", value=name)
            taken.add((topic, index))
        target[topic_id] = frozenset(partitions)
    return target
