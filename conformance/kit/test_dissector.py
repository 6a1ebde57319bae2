"""The spy beside tshark: both tell the same of one conversation."""

from __future__ import annotations

import json
import shutil
import struct
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

from conformance.harness.kafkalite import Kafkalite
from conformance.harness.recording_proxy import Passed, RecordingProxy
from conformance.kit.dissector import Dissected, dissected
from kafkalite.client.connecting import Client
from kafkalite.control.faults.matching import API_NAMES
from kafkalite.wire.api_keys import ApiKey

SECONDS = 60
KEYS = {name: key for key, name in API_NAMES.items()}
RECORDS = 300
LARGE = 200_000


def converse(bootstrap: str, topic: str) -> None:
    """Two clients, a transaction, a group, large records, and one request without an answer."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t", "client.id": "p"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(topic, f"v{number}", key=f"k{number}")
    producer.produce(topic, "x" * LARGE)
    producer.commit_transaction(SECONDS)
    careless = Producer({"bootstrap.servers": bootstrap, "acks": 0, "client.id": "careless"})
    careless.produce(topic, "v")
    careless.flush(SECONDS)
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "g",
            "client.id": "c",
            "auto.offset.reset": "earliest",
        }
    )
    reader.subscribe([topic])
    count, deadline = 0, time.monotonic() + SECONDS
    while count < RECORDS + 2:
        assert time.monotonic() < deadline
        count += sum(each.error() is None for each in reader.consume(100, 0.1))
    reader.commit(asynchronous=False)
    reader.close()
    other = KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    while not other.poll(100):
        assert time.monotonic() < deadline
    other.close()


def unanswered(passed: list[Passed]) -> set[tuple[int, int]]:
    """The size and correlation id of requests whose answers did not pass."""
    answered = {
        (each.connection, struct.unpack_from(">i", each.frame))
        for each in passed
        if not each.is_request
    }
    return {
        (len(each.frame), *struct.unpack_from(">i", each.frame, 4))
        for each in passed
        if each.is_request
        and (each.connection, struct.unpack_from(">i", each.frame, 4)) not in answered
    }


def test_the_spy_and_tshark_tell_the_same(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("left out: no tshark here (apt-get install tshark)")
    configs = {"kafkalite.control.port": "0", "group.initial.rebalance.delay.ms": "0"}
    broker = Kafkalite(tmp_path, configs)
    try:
        control = json.loads((Path(broker.directory) / "ready.json").read_text())["control"]
        k = Client(control["url"], control["token"])
        k.create_topic("seen")
        k.spy("on")
        proxy = RecordingProxy(broker.bootstrap)
        converse(proxy.bootstrap, "seen")
        proxy.close()
        # A connection that is closed may have asked last what is still waited for.
        k.wait.connections(at_most=0, timeout=f"{SECONDS}s")
        shown = k.requests(limit=10_000)
    finally:
        broker.stop()
    found = dissected(proxy.passed, tmp_path)
    asked = Counter(each for each in found if each.is_request)
    ours = Counter(
        Dissected(
            is_request=True,
            size=each.request_bytes,
            correlation_id=each.correlation_id,
            api_key=KEYS[each.api],
            version=each.version,
            client_id=each.client_id,
        )
        for each in shown
    )
    # A client that hangs up does not wait: neither for its last requests to be read, nor for the
    # answers that are on their way to it.
    assert ours <= asked
    assert {(each.size, each.correlation_id) for each in asked - ours} <= unanswered(proxy.passed)
    assert {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.END_TXN} < {each.api_key for each in asked}
    answered = [each for each in shown if each.outcome == "answered"]
    passed = Counter((each.correlation_id, each.size) for each in found if not each.is_request)
    sent = Counter((each.correlation_id, each.answer_bytes) for each in answered)
    assert passed <= sent
    assert passed.total() > sent.total() * 0.9
    assert [each.api for each in shown if each.outcome == "none"] == ["Produce"]
