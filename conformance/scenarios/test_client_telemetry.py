"""Clients push their own metrics (KIP-714), and Prometheus reads them.

Left out on Apache Kafka, which has no receiver of its own; the answers to both APIs are compared in
conformance/differential.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.tools import run_tool

SECONDS = 60
RECEIVER = {"kafkalite.client.telemetry": "true", "kafkalite.metrics.port": "0"}


@pytest.fixture
def receiver(new_broker: NewBroker, pytestconfig: pytest.Config) -> Broker:
    if pytestconfig.getoption("--broker") != "kafkalite":
        pytest.skip("Apache Kafka has no receiver of its own")
    return new_broker(RECEIVER)


def client_metrics(broker: Broker, *arguments: str) -> list[str]:
    """The lines that kafka-client-metrics prints."""
    ran = run_tool("kafka-client-metrics", "--bootstrap-server", broker.bootstrap, *arguments)
    assert ran.status == 0, ran
    return ran.lines


def subscribe(broker: Broker, metrics: str) -> None:
    client_metrics(broker, "--alter", "--name", "all", "--metrics", metrics, "--interval", "500")


def pushed(broker: Broker) -> list[Sample]:
    """The samples that clients pushed, and those about them."""
    assert isinstance(broker, Kafkalite)
    with urllib.request.urlopen(broker.ready["metrics"], timeout=SECONDS) as answer:
        text = answer.read().decode()
    return [
        sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(("client_", "kafkalite_client_info"))
    ]


def wait_for(broker: Broker, found: Callable[[list[Sample]], Any]) -> list[Sample]:
    deadline = time.monotonic() + SECONDS
    while not found(samples := pushed(broker)):
        assert time.monotonic() < deadline, samples
        time.sleep(0.1)
    return samples


def software(samples: list[Sample]) -> set[str]:
    return {
        sample.labels["client_software_name"]
        for sample in samples
        if sample.name == "kafkalite_client_info"
    }


def test_librdkafka(receiver: Broker, topic: str) -> None:
    subscribe(receiver, "*")
    settings = {"bootstrap.servers": receiver.bootstrap, "client.id": "shop", "log_level": 0}
    producer = Producer(settings)
    consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])

    def both_have_pushed(samples: list[Sample]) -> bool:
        producer.produce(topic, b"v")
        producer.poll(0)
        consumer.poll(0.1)
        values = {sample.name: sample.value for sample in samples}
        return (
            "client_producer_record_queue_time_max" in values
            and values.get("client_consumer_coordinator_assigned_partitions") == 1
        )

    samples = wait_for(receiver, both_have_pushed)
    assert software(samples) == {"confluent-kafka-python"}
    assert {sample.labels["client_id"] for sample in samples} == {"shop"}
    assert len({sample.labels["client_instance_id"] for sample in samples}) == 2
    consumer.close()
    assert producer.flush(SECONDS) == 0


def test_java(receiver: Broker, topic: str) -> None:
    """The metrics of a client that has ended stay for a while."""
    subscribe(receiver, "org.apache.kafka.producer.")
    # A producer that ends before it was told what to push pushes nothing.
    wrote = run_tool(
        *("kafka-producer-perf-test", "--bootstrap-server", receiver.bootstrap, "--topic", topic),
        *("--num-records", "50", "--record-size", "10", "--throughput", "10"),
    )
    assert wrote.status == 0, wrote
    samples = pushed(receiver)
    assert software(samples) == {"apache-kafka-java"}
    names = {sample.name for sample in samples}
    assert any(name.startswith("client_producer_") for name in names), names
    assert all(name.startswith(("client_producer_", "kafkalite_client_info")) for name in names), (
        names
    )


def test_the_tool(new_broker: NewBroker) -> None:
    broker = new_broker()
    client_metrics(
        broker,
        *("--alter", "--name", "one", "--metrics", "a,b", "--interval", "5000"),
        *("--match", "client_id=shop"),
    )
    assert client_metrics(broker, "--list") == ["one"]
    described = "\n".join(client_metrics(broker, "--describe", "--name", "one"))
    for part in ("interval.ms=5000", "metrics=a,b", "match=client_id=shop"):
        assert part in described
    client_metrics(broker, "--delete", "--name", "one")
    assert client_metrics(broker, "--list") == []
