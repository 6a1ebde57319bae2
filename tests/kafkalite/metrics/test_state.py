"""Metrics of topics, groups, transactions and nodes equal known traffic."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalite.metrics import state
from kafkalite.metrics.readings import Readings
from kafkalite.testing import broker as test_broker
from tests.kafkalite.replica.replicated import ME, OTHER, THIRD, replicated
from tests.kafkalite.scraping import ON, SECONDS, produce, scrape, value
from tests.kafkalite.security.secured import WITH_ACLS


def test_topics_groups_and_logs() -> None:
    with test_broker(ON) as b:
        b.create_topic("t", 2)
        produce(b, "t", 10)
        consumer = Consumer(
            {"bootstrap.servers": b.bootstrap, "group.id": "g", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition("t", 0, 0)])
        seen = 0
        while seen < 10:
            message = consumer.poll(SECONDS)
            assert message is not None
            seen += message.error() is None
        consumer.commit(offsets=[TopicPartition("t", 0, 7)], asynchronous=False)
        samples = scrape(b)
        size = value(samples, "log_size_bytes", topic="t", partition="0")
        assert size > 0
        assert value(samples, "log_size_bytes", topic="t", partition="1") == 0
        assert value(samples, "log_end_offset", topic="t", partition="0") == 10
        assert value(samples, "topic_received_records_total", topic="t") == 10
        assert value(samples, "topic_received_bytes_total", topic="t") == size
        assert value(samples, "topic_sent_bytes_total", topic="t") == size
        assert value(samples, "group_lag_records", group="g", topic="t", partition="0") == 3
        committed = value(samples, "group_committed_offset", group="g", topic="t", partition="0")
        assert committed == 7
        assert value(samples, "groups", type="classic", state="Empty") == 1
        assert (value(samples, "topics"), value(samples, "partitions")) == (2, 4)
        assert value(samples, "nodes", state="alive") == 1
        assert value(samples, "connections") >= 1
        consumer.close()
        b.delete_topic("t")
        assert not [key for key in scrape(b) if ("topic", "t") in key[1]]


def test_transactions() -> None:
    with test_broker({**ON, "transaction.state.log.num.partitions": 1}) as b:
        b.create_topic("t")
        producer = Producer({"bootstrap.servers": b.bootstrap, "transactional.id": "x"})
        producer.init_transactions(SECONDS)
        for commit in (True, True, False):
            producer.begin_transaction()
            producer.produce("t", b"x")
            producer.flush(SECONDS)
            assert value(scrape(b), "transactions", state="Ongoing") == 1
            if commit:
                producer.commit_transaction(SECONDS)
            else:
                producer.abort_transaction(SECONDS)
        samples = scrape(b)
        assert value(samples, "transactions", state="CompleteAbort") == 1
        assert value(samples, "transactions_ended_total", outcome="committed") == 2
        assert value(samples, "transactions_ended_total", outcome="aborted") == 1
        assert value(samples, "longest_transaction_seconds") == 0


def test_nodes_and_replicas() -> None:
    with test_broker(ON, nodes=3) as b:
        b.create_topic("t", 3, 2)
        samples = scrape(b)
        assert value(samples, "under_replicated_partitions") == 0
        assert value(samples, "leaders") == value(samples, "partitions")
        b.stop_node(2)
        b.stop_node(3)
        samples = scrape(b)
        assert value(samples, "nodes", state="fenced") == 2
        assert value(samples, "under_replicated_partitions") == 3
        assert value(samples, "offline_partitions") == 1
        assert value(samples, "leaders") == value(samples, "partitions") - 1


def test_logins_and_permissions() -> None:
    with test_broker(ON | WITH_ACLS | {"auto.create.topics.enable": "false"}) as b:
        settings = {
            "bootstrap.servers": b.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "log_level": 0,
        }
        told: list[KafkaError] = []
        wrong = AdminClient({**settings, "sasl.password": "wrong", "error_cb": told.append})
        while KafkaError._AUTHENTICATION not in [error.code() for error in told]:
            wrong.poll(0.1)
        samples = scrape(b)
        assert value(samples, "failed_authentication_total") >= 1
        assert value(samples, "successful_authentication_total") == 0
        right = AdminClient({**settings, "sasl.password": "a"})
        (created,) = right.create_topics([NewTopic("t", 1)]).values()
        with pytest.raises(KafkaException):
            created.result(SECONDS)
        samples = scrape(b)
        assert value(samples, "successful_authentication_total") >= 1
        assert value(samples, "authorization_total", decision="denied") >= 1


@pytest.mark.parametrize("leader", [ME, OTHER])
async def test_each_broker_counts_what_it_leads(tmp_path: Path, leader: int) -> None:
    """Else the sum over brokers would count a partition several times."""
    with replicated(tmp_path) as world:
        world.create(leader, ME, OTHER, THIRD)
        world.change(isr=[leader])
        services: Any = SimpleNamespace(topics=world.topics)
        readings = Readings()
        for _ in state._topics(services, readings):
            pass
        leads = int(leader == ME)
        for name, count in (
            ("partitions", 1),
            ("leaders", leads),
            ("under_replicated_partitions", leads),
            ("at_min_isr_partitions", leads),
            ("under_min_isr_partitions", 0),
            ("offline_partitions", 0),
        ):
            assert readings.values[f"kafkalite_{name}"] == [((), count)], name
