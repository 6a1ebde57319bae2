"""`kafkalite groups` and `kafkalite group show`: the groups of consumers, and one in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
)

from kafkalite.terminal import offsets
from kafkalite.terminal.kafka import Kafka, answered, not_there, refused
from kafkalite.terminal.offsets import Place
from kafkalite.terminal.options import asks_kafka, names_from
from kafkalite.terminal.output import Output

_LIST = {
    "group": "GROUP",
    "type": "TYPE",
    "state": "STATE",
    "members": "MEMBERS",
    "coordinator": "COORDINATOR",
}
PARTITIONS = {
    "topic": "TOPIC",
    "partition": "PARTITION",
    "committed": "CURRENT-OFFSET",
    "end": "LOG-END-OFFSET",
    "lag": "LAG",
    "client_id": "CLIENT-ID",
    "host": "HOST",
    "member": "MEMBER-ID",
}
# Kafka's names of the states. The consumer protocol has two more that librdkafka has no name for.
_STATES = {
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
}
_UNNAMED = "Assigning or Reconciling"


def group_names(kafka: Kafka) -> list[str]:
    """The ids of all groups of consumers. Raises Refused."""
    listed = answered(kafka.admin.list_consumer_groups(), "groups")
    for error in listed.errors or ():
        raise refused(error.args[0], "groups")
    return sorted(each.group_id for each in listed.valid or ())


def complete_group(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The groups whose ids begin so."""
    return names_from(group_names, context, incomplete)


@click.command("groups")
@asks_kafka
def list_groups(kafka: Kafka, out: Output) -> None:
    """List the groups of consumers.

    `kafkalite groups expire` and its sisters are verbs of a control port: docs/testing.md.
    """
    rows = [
        {
            "group": each.group_id,
            "type": group_type(each),
            "state": state(each),
            "members": len(each.members or ()),
            "coordinator": None if each.coordinator is None else each.coordinator.id,
        }
        for each in described(kafka, group_names(kafka))
    ]
    out.rows(rows, _LIST)


def described(kafka: Kafka, names: Sequence[str]) -> list[Any]:
    """The descriptions of groups. Raises Refused."""
    if not names:
        return []
    answers = kafka.admin.describe_consumer_groups(list(names))
    found = [answered(answer, f"group {name!r}") for name, answer in answers.items()]
    return sorted(found, key=lambda each: each.group_id)


def one(kafka: Kafka, name: str) -> Any:
    """The description of a group. Raises Refused if there is none of the name."""
    known = group_names(kafka)
    if name not in known:
        raise not_there("group", name, known, "kafkalite groups")
    [found] = described(kafka, [name])
    return found


def state(group: Any) -> str:
    """Kafka's name of a group's state."""
    return _STATES.get(group.state, _UNNAMED)


def group_type(group: Any) -> str:
    """Kafka's name of the protocol that a group speaks: classic or consumer."""
    return "consumer" if group.type is ConsumerGroupType.CONSUMER else "classic"


@click.group("group")
def group() -> None:
    """Show one group of consumers."""


@group.command("show")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@asks_kafka
def show_group(kafka: Kafka, out: Output, name: str) -> None:
    """Show a group: its members, what each of them has, and how far it is."""
    found = one(kafka, name)
    shown = {
        "group": name,
        "type": group_type(found),
        "state": state(found),
        "coordinator": None if found.coordinator is None else found.coordinator.id,
        "assignor": found.partition_assignor or None,
    }
    members = [_member(each) for each in found.members or ()]
    partitions = partitions_of(kafka, out, [found])[name]
    if out.as_json:
        out.json({**shown, "members": members, "partitions": partitions})
        return
    idle = [each["member"] for each in members if not each["assigned"]]
    out.facts({**shown, "members": len(members)} | ({"without partitions": idle} if idle else {}))
    if partitions:
        out.rows(partitions, PARTITIONS)


def _member(member: Any) -> dict[str, Any]:
    return {
        "member": member.member_id,
        "client_id": member.client_id,
        "host": (member.host or "").removeprefix("/"),
        "instance_id": member.group_instance_id,
        "assigned": [f"{topic}-{index}" for topic, index in _assigned(member)],
    }


def _assigned(member: Any) -> list[Place]:
    assignment = member.assignment
    if assignment is None:
        return []
    return [(each.topic, each.partition) for each in assignment.topic_partitions]


def partitions_of(
    kafka: Kafka, out: Output, groups: Iterable[Any]
) -> dict[str, list[dict[str, Any]]]:
    """By group: the partitions that it has committed offsets of, or that members have."""
    found = list(groups)
    committed = _committed(kafka, [each.group_id for each in found])
    owners = {
        each.group_id: {place: one for one in each.members or () for place in _assigned(one)}
        for each in found
    }
    places = {name: sorted({*committed[name], *owners[name]}) for name in committed}
    end = offsets.latest(kafka, sorted({each for some in places.values() for each in some}), out)
    return {
        name: [
            _partition(place, committed[name].get(place), end[place], owners[name].get(place))
            for place in some
        ]
        for name, some in places.items()
    }


def _partition(
    place: Place, committed: int | None, end: int | None, owner: Any | None
) -> dict[str, Any]:
    return {
        "topic": place[0],
        "partition": place[1],
        "committed": committed,
        "end": end,
        "lag": offsets.difference(end, committed),
        "client_id": None if owner is None else owner.client_id,
        "host": None if owner is None else (owner.host or "").removeprefix("/"),
        "member": None if owner is None else owner.member_id,
    }


def _committed(kafka: Kafka, names: Sequence[str]) -> dict[str, dict[Place, int]]:
    asked = {
        name: kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name]
        for name in names
    }
    found: dict[str, dict[Place, int]] = {}
    for name, answer in asked.items():
        partitions = answered(answer, f"group {name!r}").topic_partitions or ()
        found[name] = {
            (each.topic, each.partition): each.offset for each in partitions if each.offset >= 0
        }
    return found
