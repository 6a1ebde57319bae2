"""`kafkalite topics` and `kafkalite topic show`: the topics there are, and one in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from confluent_kafka import KafkaException, TopicCollection

from kafkalite.terminal import offsets
from kafkalite.terminal.configs import TOPIC, set_configs
from kafkalite.terminal.kafka import Kafka, Refused, answered, not_there
from kafkalite.terminal.options import asks_kafka, topic_argument
from kafkalite.terminal.output import Output

_LIST = {
    "topic": "TOPIC",
    "partitions": "PARTITIONS",
    "replicas": "REPLICAS",
    "records": "RECORDS",
}
_PARTITIONS = {
    "partition": "PARTITION",
    "leader": "LEADER",
    "replicas": "REPLICAS",
    "isr": "ISR",
    "start": "START-OFFSET",
    "end": "END-OFFSET",
    "records": "RECORDS",
}


@click.command("topics")
@click.option("-i", "--internal", is_flag=True, help="Those of Kafka's own, too.")
@asks_kafka
def list_topics(kafka: Kafka, out: Output, internal: bool) -> None:
    """List the topics, with what is in them.

    RECORDS is the distance of the offsets: gaps of compaction and of transactions count.
    `kafkalite topics create` and the like are verbs of a control port: docs/testing.md.
    """
    described = [
        each for each in _described(kafka, kafka.topic_names()) if _is_shown(each, internal)
    ]
    places = [(each.name, partition.id) for each in described for partition in each.partitions]
    start, end = (ask(kafka, places, out) for ask in (offsets.earliest, offsets.latest))
    rows = [
        {
            "topic": each.name,
            "partitions": len(each.partitions),
            "replicas": max((len(one.replicas) for one in each.partitions), default=0),
            "internal": each.is_internal,
            "records": offsets.total(
                [
                    offsets.difference(end[each.name, one.id], start[each.name, one.id])
                    for one in each.partitions
                ]
            ),
        }
        for each in described
    ]
    out.rows(rows, _LIST, "there are no topics")


def _is_shown(topic: Any, internal: bool) -> bool:
    return internal or not topic.is_internal


def _described(kafka: Kafka, names: Sequence[str]) -> list[Any]:
    """The descriptions of topics, but of those that are gone meanwhile."""
    if not names:
        return []
    found: list[Any] = []
    for answer in kafka.admin.describe_topics(TopicCollection(list(names))).values():
        try:
            found.append(answer.result())
        except KafkaException:
            continue
    return sorted(found, key=lambda each: each.name)


@click.group("topic", no_args_is_help=False)
def topic() -> None:
    """Show one topic."""


@topic.command("show")
@topic_argument
@asks_kafka
def show_topic(kafka: Kafka, out: Output, topic: str) -> None:
    """Show a topic: its partitions with their offsets, and the configs it has of its own."""
    shown = topic_row(kafka, out, topic)
    if out.as_json:
        out.json(shown)
        return
    configs: dict[str, str] = shown["configs"]
    facts = {
        "topic": shown["topic"],
        "id": shown["topic_id"],
        "internal": shown["internal"],
        "records": shown["records"],
        "configs": ", ".join(f"{name}={value}" for name, value in configs.items()) or None,
    }
    out.facts(facts)
    out.rows(shown["partitions"], _PARTITIONS)


def topic_row(kafka: Kafka, out: Output, name: str) -> dict[str, Any]:
    """All that there is to say of a topic. Raises Refused if there is none of the name."""
    known = kafka.topic_names()
    if name not in known:
        raise not_there("topic", name, known, "kafkalite topics")
    asked = kafka.admin.describe_topics(TopicCollection([name]))[name]
    described = answered(asked, f"topic {name!r}")
    places = [(name, each.id) for each in described.partitions]
    start, end = (ask(kafka, places, out) for ask in (offsets.earliest, offsets.latest))
    partitions: list[dict[str, Any]] = [
        {
            "partition": each.id,
            "leader": each.leader.id if each.leader is not None else None,
            "replicas": [node.id for node in each.replicas],
            "isr": [node.id for node in each.isr],
            "start": start[name, each.id],
            "end": end[name, each.id],
            "records": offsets.difference(end[name, each.id], start[name, each.id]),
        }
        for each in described.partitions
    ]
    try:
        configs = {each.name: each.value for each in set_configs(kafka, TOPIC, name)}
    except Refused:  # not everybody may see them
        configs = {}
    return {
        "topic": name,
        # as Kafka writes it; librdkafka has the other alphabet of base64
        "topic_id": str(described.topic_id).replace("+", "-").replace("/", "_"),
        "internal": described.is_internal,
        "records": offsets.total([each["records"] for each in partitions]),
        "partitions": partitions,
        "configs": configs,
    }
