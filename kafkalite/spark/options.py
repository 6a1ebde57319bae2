"""The options, with the names and the rules of Spark's own Kafka source. Keys arrive in lower case.

Source: Spark's KafkaSourceProvider and ConsumerStrategy, and its Kafka integration guide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kafkalite.spark.client import FETCH_BYTES, TopicPartition
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.local_path import local_path
from kafkalite.wire.api_keys import EARLIEST, LATEST

_SUBSCRIPTIONS = ("subscribe", "assign", "subscribePattern")
_NOT_HERE = ("minOffsetsPerTrigger", "maxTriggerDelay")
# Refused by Spark's connector, too. It takes kafka.group.id, which changes nothing here: offsets
# are Spark's, and no consumer joins a group.
_CONSUMERS_OWN = ("kafka.auto.offset.reset", "kafka.enable.auto.commit")


class Where(StrEnum):
    """The ways to give a limit of the range."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"
    TIMESTAMPS = "timestamps"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Limit:
    """The beginning or end of a read: the same for every partition, or one for each."""

    where: Where
    each: Mapping[TopicPartition, int] | None = None  # offsets, or timestamps in ms
    timestamp: int = 0


@dataclass(frozen=True)
class ReadOptions:
    """The options of a read, checked."""

    bootstrap: str | None
    paths: tuple[Path, ...]
    topics: tuple[str, ...] | None
    assigned: tuple[TopicPartition, ...] | None
    pattern: str | None
    start: Limit
    end: Limit
    latest_if_no_match: bool
    isolation: Isolation
    include_headers: bool
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    min_partitions: int | None
    max_records_per_partition: int | None
    fetch_bytes: int


class Options:
    """Reads options by Spark's names; whatever is wrong is told with name and value."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {key.lower(): value for key, value in dict(given).items()}

    def text(self, name: str) -> str | None:
        value = self._given.get(name.lower())
        return None if value is None else value.strip()

    def boolean(self, name: str, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise SparkSourceError(f"option {name} is {value!r}: it is true or false")
        return value.lower() == "true"

    def positive(self, name: str) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not value.isascii() or not value.isdigit() or not int(value):
            raise SparkSourceError(f"option {name} is {value!r}: it is a whole number above 0")
        return int(value)

    def json(self, name: str, example: str) -> Any:
        text = self.text(name)
        try:
            return json.loads(text or "")
        except ValueError as error:
            raise SparkSourceError(f"option {name} is {text!r}, not JSON like {example}") from error

    def numbers(self, name: str) -> dict[TopicPartition, int]:
        """`{"topic": {"0": 23}}` as (topic, partition) to number."""
        example = '{"topic": {"0": 23}}'
        found = self.json(name, example)
        try:
            return {
                (topic, int(partition)): int(number)
                for topic, partitions in found.items()
                for partition, number in partitions.items()
            }
        except (AttributeError, TypeError, ValueError) as error:
            raise SparkSourceError(
                f"option {name} is {self.text(name)!r}, not JSON like {example}"
            ) from error


def read_options(given: Mapping[str, str], *, streaming: bool) -> ReadOptions:
    """Check everything. Raises SparkSourceError."""
    options = Options(given)
    for name in (*_NOT_HERE, *_CONSUMERS_OWN):
        if options.text(name) is not None:
            raise SparkSourceError(f'option {name} is not for format("kafkalite"): leave it out')
    protocol = options.text("kafka.security.protocol")
    if protocol is not None and protocol.upper() != "PLAINTEXT":
        raise SparkSourceError(f"kafka.security.protocol is {protocol!r}: only PLAINTEXT is read")
    bootstrap, paths = _places(options)
    topics, assigned, pattern = _subscription(options)
    start, end = _limits(options, streaming)
    strategy = options.text("startingOffsetsByTimestampStrategy") or "error"
    if strategy.lower() not in ("error", "latest"):
        raise SparkSourceError(
            f"option startingOffsetsByTimestampStrategy is {strategy!r}: it is error or latest"
        )
    isolation = (options.text("kafka.isolation.level") or "read_uncommitted").lower()
    if isolation not in list(Isolation):
        raise SparkSourceError(
            f"option kafka.isolation.level is {isolation!r}: it is {' or '.join(Isolation)}"
        )
    return ReadOptions(
        bootstrap=bootstrap,
        paths=paths,
        topics=topics,
        assigned=assigned,
        pattern=pattern,
        start=start,
        end=end,
        latest_if_no_match=strategy.lower() == "latest",
        isolation=Isolation(isolation),
        include_headers=options.boolean("includeHeaders", False),
        fail_on_data_loss=options.boolean("failOnDataLoss", True),
        max_offsets_per_trigger=options.positive("maxOffsetsPerTrigger"),
        min_partitions=options.positive("minPartitions"),
        max_records_per_partition=options.positive("maxRecordsPerPartition"),
        fetch_bytes=options.positive("kafka.fetch.max.bytes") or FETCH_BYTES,
    )


def _places(options: Options) -> tuple[str | None, tuple[Path, ...]]:
    bootstrap = options.text("kafka.bootstrap.servers") or None
    path = options.text("path")
    paths = tuple(local_path(each.strip()) for each in (path or "").split(",") if each.strip())
    if bootstrap is None and not paths:
        raise SparkSourceError(
            "say where the records are: option kafka.bootstrap.servers (a broker), path (its data "
            "directory), or both (its offsets, that directory's files)"
        )
    return bootstrap, paths


def _subscription(
    options: Options,
) -> tuple[tuple[str, ...] | None, tuple[TopicPartition, ...] | None, str | None]:
    given = [name for name in _SUBSCRIPTIONS if options.text(name) is not None]
    if len(given) != 1:
        said = " and ".join(given) or "none"
        raise SparkSourceError(
            f"one of the options {', '.join(_SUBSCRIPTIONS)}, please: {said} given"
        )
    [name] = given
    text = options.text(name) or ""
    if name == "subscribe":
        topics = tuple(sorted({topic.strip() for topic in text.split(",") if topic.strip()}))
        if not topics:
            raise SparkSourceError("option subscribe is empty: name topics, with commas between")
        return topics, None, None
    if name == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise SparkSourceError(f"option subscribePattern is {text!r}: {error}") from error
        if not text:
            raise SparkSourceError("option subscribePattern is empty")
        return None, None, text
    return None, _assigned(options), None


def _assigned(options: Options) -> tuple[TopicPartition, ...]:
    example = '{"topic": [0, 1]}'
    found = options.json("assign", example)
    try:
        assigned = sorted({(topic, int(each)) for topic, some in found.items() for each in some})
    except (AttributeError, TypeError, ValueError) as error:
        raise SparkSourceError(f"option assign is {found!r}, not JSON like {example}") from error
    if not assigned:
        raise SparkSourceError("option assign names no partition")
    return tuple(assigned)


def _limits(options: Options, streaming: bool) -> tuple[Limit, Limit]:
    start = _limit(options, "starting", Where.LATEST if streaming else Where.EARLIEST)
    end = _limit(options, "ending", Where.LATEST)
    if streaming:
        given = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
        for name in given:
            if options.text(name) is not None:
                raise SparkSourceError(f"option {name} is for batch reads: a stream has no end")
    elif start.where is Where.LATEST or (start.where is Where.OFFSETS and LATEST in _values(start)):
        raise SparkSourceError("option startingOffsets is latest: a batch would begin at its end")
    if end.where is Where.EARLIEST or (end.where is Where.OFFSETS and EARLIEST in _values(end)):
        raise SparkSourceError(
            "option endingOffsets is earliest: a batch would end at its beginning"
        )
    return start, end


def _values(limit: Limit) -> list[int]:
    return list((limit.each or {}).values())


def _limit(options: Options, prefix: str, default: Where) -> Limit:
    """Timestamp before timestamps before offsets, as Spark prefers them."""
    timestamp, offsets = f"{prefix}Timestamp", f"{prefix}Offsets"
    by_timestamp = f"{prefix}OffsetsByTimestamp"
    if options.text(timestamp) is not None:
        text = options.text(timestamp) or ""
        if not text.isascii() or not text.isdigit():
            raise SparkSourceError(f"option {timestamp} is {text!r}, not milliseconds since 1970")
        return Limit(Where.TIMESTAMP, timestamp=int(text))
    if options.text(by_timestamp) is not None:
        return Limit(Where.TIMESTAMPS, options.numbers(by_timestamp))
    given = options.text(offsets)
    if given is None:
        return Limit(default)
    if given.lower() in (Where.EARLIEST, Where.LATEST):
        return Limit(Where(given.lower()))
    return Limit(Where.OFFSETS, options.numbers(offsets))
