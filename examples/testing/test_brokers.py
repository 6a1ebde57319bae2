"""The broker is what goes wrong: it is full, old, not clean, or the coordinator is elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from kafkalite.faults import errno, throttle

_WORKER = """
import sys
from confluent_kafka import Consumer
worker = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "billing", "client.id": "worker"})
worker.subscribe(["orders"])
while True:
    worker.poll(0.1)
"""


def test_a_clean_broker_for_each_test(kafkalite_reset: Any) -> None:
    bootstrap = kafkalite_reset.bootstrap
    kafkalite_reset.create_topic("orders")
    kafkalite_reset.produce("orders", "1")
    assert kafkalite_reset.reset().records == 1
    assert kafkalite_reset.topics() == []
    assert kafkalite_reset.bootstrap == bootstrap


def test_tests_beside_one_another_use_the_same_names(kafkalite_factory: Any) -> None:
    one, other = kafkalite_factory(), kafkalite_factory()
    for k in (one, other):
        k.create_topic("orders")
    one.produce("orders", "1")
    assert [len(k.records("orders")) for k in (one, other)] == [1, 0]


def test_a_consumer_dies_and_another_takes_over(k: Any, start_app: Callable[..., Any]) -> None:
    worker = subprocess.Popen([sys.executable, "-c", _WORKER, k.bootstrap])
    k.wait.group("billing", members=1, assigned=True, timeout="30s")
    worker.kill()
    worker.wait()
    k.wait.connections("worker", at_most=0)
    assert len(k.clock.advance("46s").expired_members) == 1
    start_app()
    k.wait.group("billing", members=1, assigned=True)
    k.produce("orders", "1")
    assert [record.value for record in k.records("invoices", 1)] == ["1"]


@pytest.mark.kafkalite(nodes=3)
def test_the_coordinator_is_elsewhere(k: Any, start_app: Callable[..., Any]) -> None:
    start_app()
    k.produce("orders", "1")
    k.wait.lag("billing")
    before = k.coordinator(group="billing")
    after = k.move_coordinator(group="billing")
    assert after.node != before.node
    k.produce("orders", "2")
    assert [each.value for each in k.records("invoices", 2, wait="30s")] == ["1", "2"]
    k.wait.committed("billing", "orders", 0, 2, timeout="30s")


def test_back_pressure(k: Any) -> None:
    k.fault("Produce", client_id="eager", do=throttle("300ms"))
    told: list[int] = []
    eager = Producer(
        {
            "bootstrap.servers": k.bootstrap,
            "client.id": "eager",
            "throttle_cb": lambda event: told.append(round(event.throttle_time * 1000)),
        }
    )
    eager.produce("orders", "1")
    eager.flush(30)
    eager.poll(0)
    assert told == [300]


def test_the_disk_is_full(k: Any) -> None:
    full = k.fault(disk="write", topic="orders", times=None, do=errno("ENOSPC"))
    hasty = Producer({"bootstrap.servers": k.bootstrap, "retries": 0})
    refused: list[str] = []
    hasty.produce("orders", "1", on_delivery=lambda error, _: refused.append(error.name()))
    hasty.flush(30)
    assert refused == ["KAFKA_STORAGE_ERROR"]
    full.remove()
    hasty.produce("orders", "2")
    assert hasty.flush(30) == 0
    assert [record.value for record in k.records("orders")] == ["2"]


@pytest.mark.parametrize("release", ["3.9", "4.0", "4.3"])
def test_against_several_releases(kafkalite_factory: Any, release: str) -> None:
    k = kafkalite_factory(as_version=release)
    k.create_topic("orders")
    producer = Producer({"bootstrap.servers": k.bootstrap, "enable.idempotence": True})
    producer.produce("orders", "1")
    assert producer.flush(30) == 0
    asked = k.requests("ApiVersions")[0]
    newest = {each["api_key"]: each["max_version"] for each in asked.answer["api_keys"]}
    assert newest[0] == {"3.9": 11, "4.0": 12, "4.3": 13}[release]
