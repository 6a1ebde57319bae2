"""Metrics of topics, groups, transactions and nodes equal known traffic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalite.metrics import state
from kafkalite.metrics.readings import Readings
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.kafkalite.apis import share_member
from tests.kafkalite.apis.share_member import ACCEPT, REJECT, RELEASE, RENEW
from tests.kafkalite.conftest import Client
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.group_requests import find
from tests.kafkalite.replica.replicated import ME, OTHER, THIRD, Replicated, replicated
from tests.kafkalite.scraping import ON, SECONDS, produce, scrape, value
from tests.kafkalite.security.secured import WITH_ACLS
from tests.kafkalite.until import until

MANY = 300


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
        leads = int(leader == ME)
        expected = (
            ("partitions", 1),
            ("leaders", leads),
            ("under_replicated_partitions", leads),
            ("at_min_isr_partitions", leads),
            ("under_min_isr_partitions", 0),
            ("offline_partitions", 0),
            ("replicas", 1),
        )
        assert counted(world, *(name for name, _ in expected)) == dict(expected)


def counted(world: Replicated, *names: str) -> dict[str, float]:
    """Metrics without labels, as they are now."""
    services: Any = SimpleNamespace(topics=world.topics)
    readings = Readings()
    for _ in state._topics(services, readings):
        pass
    return {name: value for name in names for _, value in readings.values[f"kafkalite_{name}"]}


async def test_a_replica_that_lags_or_failed_is_counted(tmp_path: Path) -> None:
    names = ("replica_max_lag_records", "failed_replicas", "offline_replicas")
    with replicated(tmp_path) as world:
        partition = world.create(OTHER, ME, OTHER)
        assert counted(world, *names) == dict.fromkeys(names, 0)  # its leader has not answered yet
        fetch_state = partition.fetch_state
        assert fetch_state is not None
        fetch_state.lag = 7
        fetch_state.stop()
        partition.log.offline_reason = "broken"
        assert counted(world, *names) == dict(zip(names, (7, 1, 1), strict=True))
        world.change(leader=ME, isr=[ME])  # leads, and lags behind nobody
        assert partition.fetch_state is None
        assert counted(world, *names[:2]) == dict.fromkeys(names[:2], 0)


async def test_changes_of_in_sync_replicas_are_counted_by_kind(tmp_path: Path) -> None:
    with replicated(tmp_path) as world:
        proposals = world.replicas.proposals
        proposals.shrink_count, proposals.expand_count = 2, 1
        services: Any = SimpleNamespace(topics=world.topics)
        readings = Readings()
        for _ in state._topics(services, readings):
            pass
        told = readings.values["kafkalite_isr_changes_total"]
        assert sorted(told) == [(("expand",), 1), (("shrink",), 2)]


async def test_partitions_that_move_are_counted_by_their_leader(tmp_path: Path) -> None:
    with replicated(tmp_path) as world:
        world.create(ME, ME, OTHER)
        assert counted(world, "reassigning_partitions") == {"reassigning_partitions": 0}
        moves = {"replicas": [ME, OTHER, THIRD], "adding_replicas": [THIRD]}
        world.change(**moves)
        assert counted(world, "reassigning_partitions") == {"reassigning_partitions": 1}
        world.change(leader=OTHER)
        assert counted(world, "reassigning_partitions") == {"reassigning_partitions": 0}


async def test_share_groups(connect: Callable[..., Awaitable[Client]]) -> None:
    async with test_broker(FEW_PARTITIONS) as b:
        b.create_topic("t", 1)
        client = await connect(b)
        await share_member.initialize(client, "queue", b.topic_id("t"))
        assert set(share_values(b).values()) == {0}
        for text in (b"a", b"b", b"c", b"d", b"e", b"f"):
            await share_member.produce(client, text)
        member = share_member.Member(client, b.topic_id("t"))
        await member.fetch()
        assert await member.say((0, 1, ACCEPT), (2, 2, RELEASE), (3, 3, REJECT)) == 0
        assert await member.say((4, 4, RENEW), is_renew_ack=True) == 0
        assert await member.say((0, 9, ACCEPT)) != 0  # refused, and not counted
        told = share_values(b)
        assert 0 < told.pop("share_partition_load_seconds_total") < 60
        assert told == {
            "share_sessions": 1,
            "share_session_partitions": 1,
            "share_session_evictions_total": 0,
            "share_fetched_partitions_total asked": 1,
            "share_fetched_partitions_total acquired": 1,
            "share_partition_loads_total": 1,
            "share_state_writes_total": 1,
            "share_acknowledged_records_total accept": 2,
            "share_acknowledged_records_total release": 1,
            "share_acknowledged_records_total reject": 1,
            "share_acknowledged_records_total renew": 1,
            "share_in_flight_records queue t 0": 4,
            "share_in_flight_batches queue t 0": 1,
            "share_lock_timeouts_total queue t 0": 0,
        }
        await b.asynchronous.clock.advance("31s")
        late = share_values(b)
        assert late["share_lock_timeouts_total queue t 0"] == 2
        assert late["share_state_writes_total"] > 1
        await client.stream.aclose()
        await until(lambda: share_values(b)["share_sessions"] == 0)
        ended = share_values(b)
        assert ended["share_session_evictions_total"] == 1
        assert (ended["share_sessions"], ended["share_session_partitions"]) == (0, 0)


def share_values(b: test_broker) -> dict[str, float]:
    """The metrics of share groups as they are now, by name and labels."""
    readings = Readings()
    for _ in state._share_groups(b._running.services, readings):
        pass
    return {
        " ".join((name.removeprefix("kafkalite_"), *labels)): value
        for name, each in readings.values.items()
        for labels, value in each
    }


async def test_a_step_looks_at_a_few_partitions(clients: Any) -> None:
    """However many a topic has, and however many offsets a group."""
    client = await clients.connect()
    clients.broker.create_topic("large", MANY)
    await find(client)
    offsets = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=0)
        for index in range(MANY)
    ]
    topics = [OffsetCommitRequestTopic(name="large", partitions=offsets)]
    await client.ask(OffsetCommitRequest(group_id="group", topics=topics), 9)
    readings, most, before = Readings(), 0, 0
    for _ in state.read(clients.broker._running.services, readings):
        now = sum(map(len, readings.values.values()))
        most, before = max(most, now - before), now
    assert len(readings.values["kafkalite_group_lag_records"]) == MANY
    assert before > 5 * MANY
    assert most < MANY
