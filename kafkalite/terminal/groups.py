"""`kafkalite groups` and `kafkalite group show`: the groups, and one in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click
from click.shell_completion import CompletionItem
from confluent_kafka import ConsumerGroupTopicPartitions

from kafkalite.terminal import offsets
from kafkalite.terminal.group_views import (
    UNNAMED,
    Group,
    Member,
    consumer_group_names,
    consumer_groups,
)
from kafkalite.terminal.kafka import Kafka, answered, not_there
from kafkalite.terminal.login import UnknownSetting
from kafkalite.terminal.modern_groups import ModernGroups, Progress
from kafkalite.terminal.offsets import Place
from kafkalite.terminal.options import Words, asks_kafka, names_from
from kafkalite.terminal.output import Output

_LIST = {
    "group": "GROUP",
    "type": "TYPE",
    "state": "STATE",
    "members": "MEMBERS",
    "coordinator": "COORDINATOR",
}
_PARTITIONS = {
    "topic": "TOPIC",
    "partition": "PARTITION",
    "committed": "CURRENT-OFFSET",
    "end": "LOG-END-OFFSET",
    "lag": "LAG",
    "client_id": "CLIENT-ID",
    "host": "HOST",
    "member": "MEMBER-ID",
}
_SHARED_PARTITIONS = {
    "topic": "TOPIC",
    "partition": "PARTITION",
    "start": "START-OFFSET",
    "end": "LOG-END-OFFSET",
    "lag": "LAG",
}
_MEMBERS = {
    "member": "MEMBER-ID",
    "client_id": "CLIENT-ID",
    "host": "HOST",
    "assigned": "ASSIGNED",
}
NO_GROUPS = "there are no groups"
_NONE_SUCH = "there are no such groups"
_TYPES = ("classic", "consumer", "share", "streams")
_STATES = (
    *("preparingrebalance", "completingrebalance", "assigning", "reconciling", "notready"),
    *("stable", "empty", "dead"),
)
_LEFT_OUT = "share and streams groups are left out: {} is for librdkafka alone"


def group_names(kafka: Kafka) -> list[str]:
    """The ids of all groups. Raises Refused."""
    names = consumer_group_names(kafka)
    with suppress(UnknownSetting), ModernGroups(kafka) as modern:
        names += modern.listed()
    return sorted(names)


def complete_group(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The groups whose ids begin so."""
    return names_from(group_names, context, incomplete)


def all_groups(kafka: Kafka, out: Output) -> list[Group]:
    """All groups, by id. Raises Refused."""
    names = consumer_group_names(kafka)
    found = consumer_groups(kafka, names, failed=lambda refused: out.note(str(refused)))
    try:
        with ModernGroups(kafka) as modern:
            found = [modern.named(each) for each in found] + modern.described(modern.listed())
    except UnknownSetting as setting:
        out.note(_LEFT_OUT.format(setting))
    return sorted(found, key=lambda each: each.group_id)


def one(kafka: Kafka, name: str) -> Group:
    """The description of a group. Raises Refused if there is none of the name."""
    known = consumer_group_names(kafka)
    if name in known:
        [found] = consumer_groups(kafka, [name])
        if found.state == UNNAMED:
            with suppress(UnknownSetting), ModernGroups(kafka) as modern:
                return modern.named(found)
        return found
    with suppress(UnknownSetting), ModernGroups(kafka) as modern:
        if name in modern.listed() and (described := modern.described([name])):
            return described[0]
        known += modern.listed()
    raise not_there("group", name, known, "kafkalite groups")


@click.command("groups")
@click.option("--type", "types", type=Words(_TYPES), metavar="TYPE,...", help="Of these types.")
@click.option(
    "--state", "states", type=Words(_STATES), metavar="STATE,...", help="In these states."
)
@asks_kafka
def list_groups(
    kafka: Kafka, out: Output, types: frozenset[str] | None, states: frozenset[str] | None
) -> None:
    """List the groups: of consumers, share groups, and those of Kafka Streams.

    `kafkalite groups expire` and the like are verbs of a control port: docs/testing.md.
    """
    rows = [
        {
            "group": each.group_id,
            "type": each.type,
            "state": each.state,
            "members": len(each.members),
            "coordinator": each.coordinator,
        }
        for each in all_groups(kafka, out)
        if (types is None or each.type in types)
        and (states is None or not states.isdisjoint(each.state.lower().split(" or ")))
    ]
    out.rows(rows, _LIST, NO_GROUPS if types is None and states is None else _NONE_SUCH)


@click.group("group", no_args_is_help=False)
def group() -> None:
    """Show one group."""


@group.command("show")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@asks_kafka
def show_group(kafka: Kafka, out: Output, name: str) -> None:
    """Show a group: its members, what each of them has, and how far it is."""
    found = one(kafka, name)
    shown = {
        "group": name,
        "type": found.type,
        "state": found.state,
        "coordinator": found.coordinator,
        "assignor": found.assignor,
    }
    members = [_member(each) for each in found.members]
    partitions = partitions_of(kafka, out, [found])[name]
    if out.as_json:
        out.json({**shown, "members": members, "partitions": partitions})
        return
    idle = [each["member"] for each in members if not each["assigned"]]
    out.facts({**shown, "members": len(members)} | ({"without partitions": idle} if idle else {}))
    if members and not found.has_owners:
        out.rows(members, _MEMBERS)
    if partitions:
        out.rows(partitions, columns_of(found))


def columns_of(group: Group) -> Mapping[str, str]:
    """The columns of a table of a group's partitions."""
    return _PARTITIONS if group.has_owners else _SHARED_PARTITIONS


def _member(member: Member) -> dict[str, Any]:
    shown = asdict(member)
    del shown["places"]
    return {"member": shown.pop("member_id"), **shown, "assigned": list(member.assigned)}


def partitions_of(
    kafka: Kafka, out: Output, groups: Sequence[Group]
) -> dict[str, list[dict[str, Any]]]:
    """By group: the partitions that it has offsets of, or that members have."""
    committed = _committed(kafka, out, [each.group_id for each in groups if each.has_owners])
    progress = _progress(kafka, [each.group_id for each in groups if not each.has_owners])
    topics = kafka.metadata().topics
    places = {
        each.group_id: sorted(
            {
                *committed.get(each.group_id, ()),
                *progress.get(each.group_id, ()),
                *(one for member in each.members for one in member.places if _is_in(topics, one)),
            }
        )
        for each in groups
    }
    end = offsets.latest(kafka, sorted({each for some in places.values() for each in some}), out)
    return {
        each.group_id: [
            _owned(each, place, committed[each.group_id].get(place), end[place])
            if each.has_owners
            else _shared(place, progress.get(each.group_id, {}).get(place), end[place])
            for place in places[each.group_id]
        ]
        for each in groups
    }


def _is_in(topics: Mapping[str, Any], place: Place) -> bool:
    return place[0] in topics and place[1] in topics[place[0]].partitions


def _owned(group: Group, place: Place, committed: int | None, end: int | None) -> dict[str, Any]:
    owner = next((each for each in group.members if place in each.places), None)
    return {
        "topic": place[0],
        "partition": place[1],
        "committed": committed,
        "end": end,
        "lag": offsets.difference(end, committed),
        "client_id": None if owner is None else owner.client_id,
        "host": None if owner is None else owner.host,
        "member": None if owner is None else owner.member_id,
    }


def _shared(place: Place, progress: Progress | None, end: int | None) -> dict[str, Any]:
    start, lag = progress or Progress(None, None)
    return {
        "topic": place[0],
        "partition": place[1],
        "start": start,
        "end": end,
        # Before KIP-1226 a broker does not say how much of it is done with already.
        "lag": offsets.difference(end, start) if lag is None else lag,
    }


def _progress(kafka: Kafka, names: Sequence[str]) -> dict[str, dict[Place, Progress]]:
    if not names:
        return {}
    with ModernGroups(kafka) as modern:
        return {name: modern.progress(name) for name in names if name in modern.listed()}


def _committed(kafka: Kafka, out: Output, names: Sequence[str]) -> dict[str, dict[Place, int]]:
    asked = [
        (name, kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name])
        for name in names
    ]
    found: dict[str, dict[Place, int]] = {}
    for name, answer in out.track(asked, "groups"):
        partitions = answered(answer, f"group {name!r}").topic_partitions or ()
        found[name] = {
            (each.topic, each.partition): each.offset for each in partitions if each.offset >= 0
        }
    return found
