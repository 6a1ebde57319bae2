"""Fill the topic `flights`: one JSON message for each flight, keyed by the airport it left from."""

from __future__ import annotations

import json

import pandas
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tqdm import tqdm

PARTITIONS = 3


def create_topic(bootstrap: str, topic: str) -> None:
    """Make `topic`. One that exists is refused: the job must count this run's messages only."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    created = admin.create_topics([NewTopic(topic, PARTITIONS)])
    created[topic].result(timeout=30)


def produce_flights(
    bootstrap: str, topic: str, flights: pandas.DataFrame, end_of_data: pandas.Timestamp
) -> None:
    """Send all flights in the order given, and after them one message that says `end_of_data`.

    Event time in a stream moves only when a message moves it. Without the last message the job
    would wait for ever whether the last hours of the year are complete.
    """
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "acks": "all"})
    lines = flights.to_json(orient="records", lines=True, date_format="iso", date_unit="s")
    for airport, line in zip(
        tqdm(flights["origin"], desc="produce", unit=" flights", unit_scale=True, disable=None),
        lines.splitlines(),
        strict=True,
    ):
        while True:
            try:
                producer.produce(topic, key=airport, value=line, on_delivery=delivered)
                break
            except BufferError:  # the client's queue is full: let the broker catch up
                producer.poll(0.1)
        producer.poll(0)
    last = json.dumps({"origin": "end", "scheduled": end_of_data.isoformat()})
    producer.produce(topic, key="end", value=last, on_delivery=delivered)
    if producer.flush(60) or failures:
        raise KafkaException(failures[0] if failures else "messages were not delivered in 60 s")
