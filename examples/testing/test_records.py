"""Records are lost, damaged, or come from those who should have stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kafkalite.faults import corrupt, silence
from kafkalite.testing import check_effects


def reader(k: Any, **configs: Any) -> Consumer:
    """A consumer of all orders, without a group's ways."""
    consumer = Consumer(
        {
            "bootstrap.servers": k.bootstrap,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
            **configs,
        }
    )
    consumer.assign([TopicPartition("orders", 0, 0)])
    return consumer


def next_of(consumer: Consumer) -> Any:
    """The next thing that the consumer gives: a record, or what is wrong."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None:
            return message
    raise AssertionError("nothing came")


def test_a_commit_succeeds_and_no_answer_comes(k: Any) -> None:
    k.fault("EndTxn", transactional_id="billing-0", do=silence.after)
    billing = Producer(
        {
            "bootstrap.servers": k.bootstrap,
            "transactional.id": "billing-0",
            "transaction.timeout.ms": 10_000,
            "socket.timeout.ms": 1000,
        }
    )
    billing.init_transactions(30)
    billing.begin_transaction()
    for order in ("1", "2"):
        billing.produce("invoices", order)
    billing.commit_transaction(30)
    invoices = k.records("invoices", committed=True)
    assert check_effects(["1", "2"], [each.value for each in invoices], by=str)


def test_a_zombie_commits_nothing(k: Any, start_app: Callable[..., Any]) -> None:
    zombie = Consumer(
        {
            "bootstrap.servers": k.bootstrap,
            "group.id": "billing",
            "client.id": "zombie",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 60_000,
            "session.timeout.ms": 300_000,
            "max.poll.interval.ms": 300_000,
        }
    )
    zombie.subscribe(["orders"])
    k.produce("orders", "1")
    order = next_of(zombie)
    k.group("billing").expire("zombie")
    with pytest.raises(KafkaException):
        zombie.commit(order, asynchronous=False)
    assert k.group("billing").show().offsets == []
    with suppress(KafkaException):
        zombie.close()


def test_a_record_with_a_broken_checksum(k: Any) -> None:
    k.produce("orders", "1")
    k.fault("Fetch", topic="orders", do=corrupt("crc"))
    checking = reader(k, **{"check.crcs": True})
    assert next_of(checking).error().name() == "_BAD_MSG"
    checking.seek(TopicPartition("orders", 0, 0))
    assert next_of(checking).value() == b"1"  # the log was whole all the time
    checking.close()


def test_a_poison_record(k: Any) -> None:
    k.produce("orders", b"\x00\xff garbage")
    poisoned = reader(k)
    assert next_of(poisoned).value() == b"\x00\xff garbage"
    poisoned.close()
    (seen,) = k.records("orders")
    assert seen.value_encoding == "base64"


def test_records_are_lost_before_they_are_read(k: Any) -> None:
    k.produce("orders", "1", count=5)
    k.lose("orders", to=3)
    late = reader(k)
    assert next_of(late).offset() == 3
    late.close()


def test_a_hole_in_a_topic(k: Any) -> None:
    k.produce("orders", "1", count=5)
    k.gap("orders", 1, 4)
    careful = reader(k)
    assert [next_of(careful).offset() for _ in range(2)] == [0, 4]
    careful.close()
