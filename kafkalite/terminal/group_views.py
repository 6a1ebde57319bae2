"""A group as the words of the terminal show it, by any protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupType

from kafkalite.terminal.kafka import Kafka, Refused, answered, refused
from kafkalite.terminal.offsets import Place

# Kafka's names of the states. The consumer protocol has two more that librdkafka has no name for:
# a connection of our own is asked for them, if it gets in.
_STATES = {
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
}
UNNAMED = "Assigning or Reconciling"


@dataclass(frozen=True, slots=True)
class Member:
    """A member. `places` are the partitions that it reads, `assigned` their names, or its tasks."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    places: tuple[Place, ...]
    assigned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group. `type` and `state` have Kafka's names, `coordinator` is a node's id."""

    group_id: str
    type: str
    state: str
    coordinator: int | None
    assignor: str | None
    members: tuple[Member, ...]

    @property
    def has_owners(self) -> bool:
        """Tells whether a partition has one member at most: in share groups it has several."""
        return self.type != "share"


def member_of(
    member_id: str,
    client_id: str,
    host: str | None,
    instance_id: str | None,
    places: Sequence[Place],
) -> Member:
    """A member that has these partitions."""
    names = tuple(f"{topic}-{index}" for topic, index in places)
    address = (host or "").removeprefix("/")
    return Member(member_id, client_id, address, instance_id, tuple(places), names)


def consumer_group_names(kafka: Kafka) -> list[str]:
    """The ids of the groups of consumers, of both protocols. Raises Refused."""
    listed = answered(kafka.admin.list_consumer_groups(), "groups")
    for error in listed.errors or ():
        raise refused(error.args[0], "groups")
    return sorted(each.group_id for each in listed.valid or ())


def consumer_groups(
    kafka: Kafka, names: Sequence[str], failed: Callable[[Refused], object] | None = None
) -> list[Group]:
    """Groups of consumers, by librdkafka.

    Raises Refused; or leaves a group out that it cannot describe, and tells `failed` why.
    """
    if not names:
        return []
    found: list[Group] = []
    for name, answer in kafka.admin.describe_consumer_groups(list(names)).items():
        try:
            found.append(_described(name, answer))
        except Refused as refused:
            # If very many are asked about, librdkafka breaks some off: each of those alone, then.
            if len(names) > 1:
                found += consumer_groups(kafka, [name], failed)
            elif failed is None:
                raise
            else:
                failed(refused)
    return found


def _described(name: str, answer: Any) -> Group:
    return _group(answered(answer, f"group {name!r}"))


def _group(found: Any) -> Group:
    return Group(
        found.group_id,
        "consumer" if found.type is ConsumerGroupType.CONSUMER else "classic",
        _STATES.get(found.state, UNNAMED),
        None if found.coordinator is None else found.coordinator.id,
        found.partition_assignor or None,
        tuple(
            member_of(
                each.member_id, each.client_id, each.host, each.group_instance_id, _assigned(each)
            )
            for each in sorted(found.members or (), key=lambda each: each.member_id)
        ),
    )


def _assigned(member: Any) -> list[Place]:
    assignment = member.assignment
    if assignment is None:
        return []
    return [(each.topic, each.partition) for each in assignment.topic_partitions]
