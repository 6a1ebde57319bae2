"""`kafkalite configs`: the configs of topics, brokers and groups, the levels of loggers.

The words are those of kafka-configs.sh.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from kafkalite.terminal.kafka import Kafka, answered, library, not_there
from kafkalite.terminal.options import asks_kafka, topic_names
from kafkalite.terminal.output import Output

TOPIC: Final[Any] = library.ResourceType.TOPIC
BROKER: Final[Any] = library.ResourceType.BROKER
_GROUP: Final[Any] = library.ResourceType.GROUP
# librdkafka has no words for these.
_LOGGER: Final = "broker logger"
_DEFAULTS: Final = "broker defaults"
_Source: Final[Any] = library.ConfigSource
# A config and its value; None: none of its own.
Change = tuple[str, str | None]
_COLUMNS = {"name": "NAME", "value": "VALUE", "source": "SOURCE"}
_ENTITY_COLUMNS = {"entity_type": "ENTITY-TYPE", "entity_name": "ENTITY-NAME", **_COLUMNS}
# NAME=VALUE by commas; a value with commas in it stands in brackets.
_PAIR: Final = re.compile(r"\s*([^=,\s][^=,]*)=(?:\[([^\]]*)\]|((?!\[)[^,]*))(?:,|$)")
_INHERITED: Final = frozenset({_Source.DEFAULT_CONFIG, _Source.UNKNOWN_CONFIG})
_NOTHING_SET: Final = "nothing is set: --all shows the defaults"
HIDDEN: Final = "(sensitive)"
# Topics that one request asks for.
_AT_ONCE: Final = 100
_SHOWN_WITHIN_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.05
_FLAGS: Final = "--topic, --broker, --group, --broker-logger and --broker-defaults"


@click.command("configs")
@click.option("-t", "--topic", metavar="NAME", shell_complete=topic_names)
@click.option("--broker", metavar="ID", help="A node's.")
@click.option("--group", metavar="ID", help="A group's.")
@click.option("--broker-logger", metavar="ID", help="The levels of a node's loggers.")
@click.option(
    "--broker-defaults", is_flag=True, help="What is set for all brokers that have no other value."
)
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
    broker_logger: str | None,
    broker_defaults: bool,
    is_all: bool,
    add_config: tuple[str, ...],
    delete_config: tuple[str, ...],
) -> None:
    """Show the configs that are set: of one topic, broker or group, or of all topics and brokers.

    With --add-config or --delete-config they are changed first. To have each request logged:

    \b
    configs --broker-logger 1 --add-config kafka.request.logger=DEBUG
    """
    chosen = [
        (kind, name)
        for kind, name in (
            (TOPIC, topic),
            (BROKER, broker),
            (_GROUP, group),
            (_LOGGER, broker_logger),
            (_DEFAULTS, "" if broker_defaults else None),
        )
        if name is not None
    ]
    if len(chosen) > 1:
        raise click.UsageError(f"{_FLAGS} exclude each other")
    changes = [*_set(add_config), *_deleted(delete_config)]
    if changes and not chosen:
        raise click.UsageError(f"name what to configure, by one of {_FLAGS}")
    if not chosen:
        out.rows(_everything(kafka, out, is_all), _ENTITY_COLUMNS)
        return
    [(kind, name)] = chosen
    _check_there(kafka, kind, name)
    if kind in (_LOGGER, _DEFAULTS):
        from kafkalite.terminal import resources  # few ask for them

        resource = resources.loggers_of(name) if kind is _LOGGER else resources.BROKER_DEFAULTS
        rows = resources.resource_configs(kafka, resource, changes)
        if changes and kind is _LOGGER and not is_all:  # there are dozens of others
            changed = dict(changes)
            rows = [row for row in rows if row["name"] in changed]
        out.rows(rows, _COLUMNS, _NOTHING_SET)
        return
    if changes:
        entries = [_entry(*each) for each in changes]
        asked = kafka.admin.incremental_alter_configs(
            [library.ConfigResource(kind, name, incremental_configs=entries)]
        )
        for answer in asked.values():
            answered(answer, _named(kind, name))
        _wait_for(kafka, kind, name, dict(changes))
    found = described_configs(kafka, kind, name) if is_all else set_configs(kafka, kind, name)
    out.rows([_row(kind, name, each) for each in found], _COLUMNS, _NOTHING_SET)


def _wait_for(kafka: Kafka, kind: Any, name: str, wanted: Mapping[str, str | None]) -> None:
    """Wait until the broker that is asked shows the changes: the controllers have made them."""
    deadline = time.monotonic() + _SHOWN_WITHIN_SECONDS
    while time.monotonic() < deadline:
        shown = {each.name: each.value for each in set_configs(kafka, kind, name)}
        if all(shown.get(name) == value for name, value in wanted.items()):
            return
        time.sleep(_PAUSE_SECONDS)


def set_configs(kafka: Kafka, kind: Any, name: str) -> list[Any]:
    """The configs of a topic, broker or group that are its own. Raises Refused."""
    return [each for each in described_configs(kafka, kind, name) if _is_own(kind, each)]


def _is_own(kind: Any, entry: Any) -> bool:
    source = _Source(entry.source)
    if kind is BROKER:
        return source not in _INHERITED
    return source in (_Source.DYNAMIC_TOPIC_CONFIG, _Source.GROUP_CONFIG)


def described_configs(kafka: Kafka, kind: Any, name: str) -> list[Any]:
    """All configs of a topic, broker or group, by name. Raises Refused."""
    return _described(kafka, kind, [name])[name]


def _described(kafka: Kafka, kind: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    asked = kafka.admin.describe_configs([library.ConfigResource(kind, name) for name in names])
    return {
        each.name: [entry for _, entry in sorted(answered(answer, _named(kind, each.name)).items())]
        for each, answer in asked.items()
    }


def _everything(kafka: Kafka, out: Output, is_all: bool) -> list[dict[str, Any]]:
    metadata = kafka.metadata()
    topics = sorted(metadata.topics)
    # A broker is asked for its own alone.
    portions = [(BROKER, [str(each)]) for each in sorted(metadata.brokers)]
    portions += [
        (TOPIC, topics[start : start + _AT_ONCE]) for start in range(0, len(topics), _AT_ONCE)
    ]
    return [
        _row(kind, name, entry)
        for kind, names in out.track(portions, "configs")
        for name, entries in _described(kafka, kind, names).items()
        for entry in entries
        if is_all or _is_own(kind, entry)
    ]


def _row(kind: Any, name: str, entry: Any) -> dict[str, Any]:
    return {
        "entity_type": kind.name.lower(),
        "entity_name": name,
        "name": entry.name,
        "value": HIDDEN if entry.is_sensitive else entry.value,
        "source": _Source(entry.source).name,
        "read_only": entry.is_read_only,
    }


def _named(kind: Any, name: str) -> str:
    return f"{kind.name.lower()} {name!r}"


def _check_there(kafka: Kafka, kind: Any, name: str) -> None:
    """Raises Refused for a topic or broker that is not there."""
    if kind is TOPIC:
        kafka.partitions_of(name)
    elif kind in (BROKER, _LOGGER):
        known = [str(each) for each in kafka.metadata().brokers]
        if name not in known:
            raise not_there("broker", name, known, "kafkalite configs")


def _set(texts: tuple[str, ...]) -> list[Change]:
    return [pair for text in texts for pair in pairs(text)]


def _deleted(texts: tuple[str, ...]) -> list[Change]:
    names = [(text, name.strip()) for text in texts for name in text.split(",")]
    for text, name in names:
        if not name:
            raise click.UsageError(f"--delete-config {text}: it is names with commas between")
    return [(name, None) for _, name in names]


def _entry(name: str, value: str | None) -> Any:
    kinds = library.AlterConfigOpType
    operation = kinds.DELETE if value is None else kinds.SET
    return library.ConfigEntry(name, value, incremental_operation=operation)


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
