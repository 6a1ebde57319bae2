"""The job's output, read back with other means than Spark, and compared row by row."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from examples.flights.data import AirportHour


def rows_in_topic(bootstrap: str, topic: str) -> list[AirportHour]:
    """All rows in `topic`, sorted; a row that is there twice is there twice."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "check",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
        rows: list[AirportHour] = []
        unfinished = set(partitions)
        while unfinished:
            for message in consumer.consume(1000, timeout=1.0):
                error = message.error()
                if error is None:
                    rows.append(AirportHour(**json.loads(message.value())))
                elif error.name() == "_PARTITION_EOF":
                    unfinished.discard(message.partition())
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return in_order(
        row._replace(hour=row.hour.replace(".000Z", "Z"))  # Spark writes milliseconds
        for row in rows
    )


def rows_in_parquet(directory: Path) -> list[AirportHour]:
    """All rows in the Parquet files of `directory`, sorted."""
    table = pyarrow.parquet.read_table(directory)
    return in_order(
        AirportHour(**{**row, "hour": row["hour"].strftime("%Y-%m-%dT%H:%M:%SZ")})
        for row in table.to_pylist()
    )


def in_order(rows: Iterable[AirportHour]) -> list[AirportHour]:
    """Rows by airport and hour, as `data.airport_hours` gives them."""
    return sorted(rows, key=lambda row: (row.origin, row.hour))


def differences(expected: list[AirportHour], seen: list[AirportHour]) -> list[str]:
    """One line for each row that differs; both lists are sorted, and equality is exact."""
    return [
        f"expected {wanted}, seen {got}"
        for wanted, got in itertools.zip_longest(expected, seen)
        if wanted != got
    ]
