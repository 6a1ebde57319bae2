"""`kafkalite configs`: the configs of topics, brokers and groups; seen and set.

The words are those of kafka-configs.sh.
"""

from __future__ import annotations

import re
import time
from typing import Any, Final

import click

from kafkalite.terminal.kafka import Kafka, answered, library, not_there
from kafkalite.terminal.options import asks_kafka, topic_names
from kafkalite.terminal.output import Output

TOPIC: Final[Any] = library.ResourceType.TOPIC
BROKER: Final[Any] = library.ResourceType.BROKER
_GROUP: Final[Any] = library.ResourceType.GROUP
_Source: Final[Any] = library.ConfigSource
_COLUMNS = {"name": "NAME", "value": "VALUE", "source": "SOURCE"}
_ENTITY_COLUMNS = {"entity_type": "ENTITY-TYPE", "entity_name": "ENTITY-NAME", **_COLUMNS}
# NAME=VALUE by commas; a value with commas in it stands in brackets.
_PAIR: Final = re.compile(r"([^=,]+)=(?:\[([^\]]*)\]|((?!\[)[^,]*))(?:,|$)")
_INHERITED: Final = frozenset({_Source.DEFAULT_CONFIG, _Source.UNKNOWN_CONFIG})
_HIDDEN: Final = "(sensitive)"
_SHOWN_WITHIN_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.05


@click.command("configs")
@click.option("-t", "--topic", metavar="NAME", shell_complete=topic_names)
@click.option("--broker", metavar="ID", help="A node's.")
@click.option("--group", metavar="ID", help="A group's.")
@click.option("--all", "is_all", is_flag=True, help="Those with their defaults, too.")
@click.option("--add-config", multiple=True, metavar="NAME=VALUE,...", help="Set these.")
@click.option("--delete-config", multiple=True, metavar="NAME,...", help="Back to the default.")
@asks_kafka
def configs(
    kafka: Kafka,
    out: Output,
    topic: str | None,
    broker: str | None,
    group: str | None,
    is_all: bool,
    add_config: tuple[str, ...],
    delete_config: tuple[str, ...],
) -> None:
    """Show the configs that are set: of one topic, broker or group, or of all topics and brokers.

    With --add-config or --delete-config they are changed first.
    """
    chosen = [
        (kind, name)
        for kind, name in (
            (TOPIC, topic),
            (BROKER, broker),
            (_GROUP, group),
        )
        if name is not None
    ]
    if len(chosen) > 1:
        raise click.UsageError("--topic, --broker and --group exclude each other")
    changes = [*_set(add_config), *_deleted(delete_config)]
    if changes and not chosen:
        raise click.UsageError("name what to configure: --topic, --broker or --group")
    if not chosen:
        out.rows(_everything(kafka, out, is_all), _ENTITY_COLUMNS)
        return
    [(kind, name)] = chosen
    _check_there(kafka, kind, name)
    if changes:
        asked = kafka.admin.incremental_alter_configs(
            [library.ConfigResource(kind, name, incremental_configs=changes)]
        )
        for answer in asked.values():
            answered(answer, _named(kind, name))
        _wait_for(kafka, kind, name, changes)
    found = described_configs(kafka, kind, name) if is_all else set_configs(kafka, kind, name)
    out.rows([_row(kind, name, each) for each in found], _COLUMNS)


def _wait_for(kafka: Kafka, kind: Any, name: str, changes: list[Any]) -> None:
    """Wait until the broker that is asked shows the changes: the controllers have made them."""
    deadline = time.monotonic() + _SHOWN_WITHIN_SECONDS
    wanted = {each.name: each.value for each in changes}
    while time.monotonic() < deadline:
        shown = {each.name: each.value for each in set_configs(kafka, kind, name)}
        if all(shown.get(name) == value for name, value in wanted.items()):
            return
        time.sleep(_PAUSE_SECONDS)


def set_configs(kafka: Kafka, kind: Any, name: str) -> list[Any]:
    """The configs of a topic, broker or group that are its own. Raises Refused."""
    own = {_Source.DYNAMIC_TOPIC_CONFIG, _Source.GROUP_CONFIG}
    if kind is BROKER:
        own = set(_Source) - _INHERITED
    return [each for each in described_configs(kafka, kind, name) if _Source(each.source) in own]


def described_configs(kafka: Kafka, kind: Any, name: str) -> list[Any]:
    """All configs of a topic, broker or group, by name. Raises Refused."""
    asked = kafka.admin.describe_configs([library.ConfigResource(kind, name)])
    [answer] = asked.values()
    return [entry for _, entry in sorted(answered(answer, _named(kind, name)).items())]


def _everything(kafka: Kafka, out: Output, is_all: bool) -> list[dict[str, Any]]:
    metadata = kafka.metadata()
    entities = [(BROKER, str(each)) for each in sorted(metadata.brokers)]
    entities += [(TOPIC, name) for name in sorted(metadata.topics)]
    described = described_configs if is_all else set_configs
    return [
        _row(kind, name, entry)
        for kind, name in out.track(entities, "configs")
        for entry in described(kafka, kind, name)
    ]


def _row(kind: Any, name: str, entry: Any) -> dict[str, Any]:
    return {
        "entity_type": kind.name.lower(),
        "entity_name": name,
        "name": entry.name,
        "value": _HIDDEN if entry.is_sensitive else entry.value,
        "source": _Source(entry.source).name,
        "read_only": entry.is_read_only,
    }


def _named(kind: Any, name: str) -> str:
    return f"{kind.name.lower()} {name!r}"


def _check_there(kafka: Kafka, kind: Any, name: str) -> None:
    """Raises Refused for a topic or broker that is not there."""
    if kind is TOPIC:
        kafka.partitions_of(name)
    elif kind is BROKER:
        known = [str(each) for each in kafka.metadata().brokers]
        if name not in known:
            raise not_there("broker", name, known, "kafkalite configs")


def _set(texts: tuple[str, ...]) -> list[Any]:
    return [
        library.ConfigEntry(name, value, incremental_operation=library.AlterConfigOpType.SET)
        for text in texts
        for name, value in pairs(text)
    ]


def _deleted(texts: tuple[str, ...]) -> list[Any]:
    return [
        library.ConfigEntry(
            name.strip(), None, incremental_operation=library.AlterConfigOpType.DELETE
        )
        for text in texts
        for name in text.split(",")
    ]


def pairs(text: str) -> list[tuple[str, str]]:
    """`a=1,b=[2,3]` as names and values, as kafka-configs.sh reads it. Raises UsageError."""
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None:
            raise click.UsageError(
                f"--add-config {text}: it is NAME=VALUE,..., with [ ] around a value with commas"
            )
        name, bracketed, plain = pair.groups()
        found.append((name.strip(), plain if bracketed is None else bracketed))
        position = pair.end()
    return found
