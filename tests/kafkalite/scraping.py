"""Scrapes a broker's metrics over HTTP."""

from __future__ import annotations

import urllib.request

from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from kafkalite.testing import broker as test_broker

SECONDS = 20
ON = {"kafkalite.metrics.port": 0, "offsets.topic.num.partitions": 2}


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(b: test_broker) -> Samples:
    assert b.metrics_url is not None
    with urllib.request.urlopen(b.metrics_url, timeout=SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"kafkalite_{name}", tuple(sorted(labels.items()))]


def produce(b: test_broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": b.bootstrap})
    for number in range(count):
        producer.produce(topic, f"{number:03}", partition=0)
    assert producer.flush(SECONDS) == 0
