"""Faults as librdkafka meets them."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from kafkalite.faults import (
    corrupt,
    cut,
    delay,
    drop,
    error,
    hold,
    patch,
    repeat,
    run,
    silence,
    throttle,
)
from kafkalite.testing import broker
from tests.kafkalite.control.clients import Polling, consumer, produced, producer


@pytest.mark.slow
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("what", [drop.after, silence.after, cut(7)])
def test_an_answer_is_lost(k: broker, what: Any, idempotent: bool) -> None:
    k.create_topic("t")
    fault = k.fault("Produce", topic="t", do=what)
    assert produced(k, "t", b"v", **{"enable.idempotence": idempotent}) == [None]
    assert fault.applied == 1
    # Only the log shows it: librdkafka reports one success in both cases.
    assert len(k.records("t")) == (1 if idempotent else 2)


@pytest.mark.slow
@pytest.mark.parametrize("what", [drop.before, silence.before])
def test_a_request_is_lost(k: broker, what: Any) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=what)
    assert produced(k) == [None]
    assert len(k.records("t")) == 1


def test_a_reset_connection_is_no_different_to_the_client(k: broker) -> None:
    from kafkalite.control.faults.rule import Action

    k.create_topic("t")
    k.fault("Produce", do=Action(drop="after", reset=True))
    assert produced(k) == [None]


def test_a_connection_is_named_by_its_clients_address(k: broker) -> None:
    host, _, port = k.bootstrap.rpartition(":")
    asked = struct.pack(">ihhih", 10, 18, 0, 7, -1)
    with (
        socket.create_connection((host, int(port)), 20) as one,
        socket.create_connection((host, int(port)), 20) as other,
    ):
        address = f"{host}:{one.getsockname()[1]}"
        fault = k.fault("ApiVersions", connection=address, do=drop.before)
        other.sendall(asked)
        assert other.recv(4)
        one.sendall(asked)
        assert one.recv(4) == b""
    assert [hit.connection for hit in fault.show().hits] == [address]


def test_an_error_before_and_after_applying(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=error("TOPIC_AUTHORIZATION_FAILED"))
    (failed,) = produced(k)
    assert failed is not None
    assert failed.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert k.records("t") == []
    k.fault("Produce", topic="t", do=error("INVALID_REQUIRED_ACKS", apply=True))
    (failed,) = produced(k)
    assert failed is not None
    assert len(k.records("t")) == 1


def test_an_error_of_one_partition(k: broker) -> None:
    k.create_topic("t", partitions=2)
    k.fault("Produce", topic="t", partition=1, do=error("MESSAGE_TOO_LARGE"))
    told: dict[int, Any] = {}
    both = producer(k, **{"linger.ms": 50})
    for partition in (0, 1):
        both.produce(
            "t",
            b"v",
            partition=partition,
            on_delivery=lambda failed, message: told.update({message.partition(): failed}),
        )
    both.flush(10)
    assert told[0] is None
    assert told[1].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert [record.partition for record in k.records("t")] == [0]


@pytest.mark.slow
def test_an_error_of_a_partition_of_a_fetch_session(k: broker) -> None:
    k.create_topic("t", partitions=2)
    with Polling(consumer(k), "t") as reader:
        k.wait.group("g", members=1, assigned=True)
        k.produce("t", "first", partition=1)
        deadline = time.monotonic() + 10
        while not reader.values and time.monotonic() < deadline:
            time.sleep(0.01)
        fault = k.fault(
            "Fetch", topic="t", partition=1, times=2, do=error("NOT_LEADER_OR_FOLLOWER")
        )
        k.wait.fault(fault, 2)
        k.produce("t", "second", partition=1)
        while len(reader.values) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reader.values == [b"first", b"second"]


def test_a_delay_is_waited_for(k: broker) -> None:
    k.create_topic("t")
    produced(k)
    k.fault("Produce", do=delay("300ms"))
    began = time.monotonic()
    assert produced(k) == [None]
    assert 0.3 <= time.monotonic() - began < 3


def test_what_is_held_waits_for_its_release(k: broker) -> None:
    k.create_topic("t")
    fault = k.fault("Produce", do=hold)
    waiting = producer(k)
    waiting.produce("t", b"v")
    k.wait.held(fault)
    assert k.records("t") == []
    assert fault.release() == 1
    waiting.flush(10)
    assert len(k.records("t")) == 1


def test_metadata_may_lie_once(k: broker) -> None:
    k.create_topic("t")
    nobody_leads = {
        "topics.*.partitions.*.leader_id": -1,
        "topics.*.partitions.*.error_code": 5,
    }
    k.fault("Metadata", topic="t", do=patch(nobody_leads))
    assert produced(k) == [None]
    assert len(k.records("t")) == 1


def test_a_batch_comes_damaged_and_is_whole_in_the_log(k: broker) -> None:
    k.create_topic("t")
    k.produce("t", "v" * 100)
    k.fault("Fetch", topic="t", do=corrupt("crc"))
    with_check = consumer(k, **{"check.crcs": True})
    with_check.assign([TopicPartition("t", 0, 0)])
    errors = []
    for _ in range(100):
        message = with_check.poll(0.1)
        if message is None:
            continue
        if message.error() is None:
            assert message.value() == b"v" * 100
            break
        errors.append(message.error().code())
    else:
        pytest.fail("the record never came")
    with_check.close()
    assert len(k.records("t")) == 1


def test_a_batch_is_written_twice(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=repeat(2))
    assert produced(k, "t", b"a", b"b", **{"enable.idempotence": True}) == [None, None]
    assert [record.value for record in k.records("t")] == ["a", "a", "b"]


def test_a_client_is_throttled(k: broker) -> None:
    k.create_topic("t")
    told: list[int] = []
    with_throttling = producer(k, throttle_cb=lambda event: told.append(event.throttle_time))
    k.fault("Produce", client_id="app", do=throttle("400ms"))
    with_throttling.produce("t", b"v")
    with_throttling.flush(10)
    with_throttling.poll(0.2)
    assert told
    assert 0.3 < told[0] <= 0.4 or told[0] == 400


def test_a_verb_at_exactly_this_request(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", skip=1, do=run("records.write", topic="t", records=[{"value": "between"}]))
    produced(k, "t", b"first", b"second")
    assert [record.value for record in k.records("t")] == ["first", "between", "second"]


def test_nothing_stands_in_the_way_without_a_rule(k: broker) -> None:
    def gate() -> object:
        return k._call(lambda: k._running._dispatcher._gates.fault)

    assert gate() is None
    with k.fault("EndTxn", optional=True, do=drop.after):
        assert gate() is not None
    assert gate() is None
