"""The table of metrics is what is told."""

from __future__ import annotations

import re
import time

import pytest
from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition

from kafkalite.metrics.table import METRICS
from kafkalite.testing import broker as test_broker
from tests.kafkalite.scraping import ON, SECONDS, produce, scrape


@pytest.mark.slow
def test_the_table_is_what_is_told() -> None:
    """Every metric has values where there is something to tell, and nothing else is told."""
    with test_broker({**ON, "transaction.state.log.num.partitions": 1}) as b:
        b.create_topic("t")
        produce(b, "t", 1)
        consumer = Consumer({"bootstrap.servers": b.bootstrap, "group.id": "g"})
        consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
        consumer.assign([TopicPartition("t", 0, 0)])
        assert consumer.poll(SECONDS) is not None
        producer = Producer({"bootstrap.servers": b.bootstrap, "transactional.id": "x"})
        producer.init_transactions(SECONDS)
        consumer.close()
        member = ShareConsumer({"bootstrap.servers": b.bootstrap, "group.id": "queue"})
        member.subscribe(["t"])
        deadline = time.monotonic() + SECONDS
        while not in_flight(b):
            assert time.monotonic() < deadline
            member.poll(0.1)
        told = {name for name, _ in scrape(b) if name.startswith("kafkalite_")}
        suffixes = re.compile(r"_(bucket|sum|count)$")
        names = {name if name in METRICS else suffixes.sub("", name) for name in told}
        nothing_to_tell = {
            "kafkalite_request_errors_total",
            "kafkalite_client_info",
            "kafkalite_authorization_total",
        }
        assert names | nothing_to_tell == set(METRICS)
        member.close()


def in_flight(b: test_broker) -> bool:
    """True when a share partition is open."""
    return any(name == "kafkalite_share_in_flight_records" for name, _ in scrape(b))
