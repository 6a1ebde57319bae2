"""Every client's groups live on, and lose nothing, while what they rely on goes away.

All clients at once, each with a group of its own, all reading what one producer keeps writing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.conftest import NewBroker
from conformance.harness.members import GROUP_KEY, Requests
from conformance.scenarios.groups_of_clients import (
    Feeder,
    Group,
    clients,
    wait_for_all,
    wait_for_more,
)
from kafkalite.testing import broker as broker_in_thread
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

TOPIC = "numbers"
PARTITIONS = 4
SECONDS = 90  # on a busy machine a JVM alone takes ten
# It asks who the coordinator is only when it joins: when its heartbeats have failed five times, it
# starts again as a new member (KafkaJS: Runner.scheduleFetchManager, ConsumerGroup.heartbeat).
STARTS_AGAIN = "kafkajs"
CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(
    closing: ExitStack, bootstrap: str, group_ids: dict[str, str], size: int
) -> tuple[Feeder, list[Group]]:
    feeder = Feeder(bootstrap, TOPIC, PARTITIONS)
    closing.callback(feeder.close)
    groups = []
    for client, group_id in group_ids.items():
        groups.append(Group(client, bootstrap, TOPIC, group_id, size))
        closing.callback(groups[-1].close)
    wait_for_more(groups, SECONDS)
    return feeder, groups


def members_of(bootstrap: str, groups: list[Group]) -> dict[str, set[str]]:
    """The members' ids by client, from one that has not heard of any coordinator yet."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    described = admin.describe_consumer_groups([group.group_id for group in groups])
    return {
        group.client: {member.member_id for member in described[group.group_id].result(30).members}
        for group in groups
    }


def odd_counts(bootstrap: str, groups: list[Group]) -> dict[str, int]:
    """The number of members by client, where it is not two."""
    counts = {client: len(members) for client, members in members_of(bootstrap, groups).items()}
    return {client: count for client, count in counts.items() if count != 2}


@pytest.mark.long
def test_the_coordinator_moves_to_another_node(closing: ExitStack) -> None:
    """Its node goes, and comes back: the members find the new one, and stay the same members."""
    configs = {**CONFIGS, "offsets.topic.replication.factor": "3"}
    cluster = closing.enter_context(broker_in_thread(configs, nodes=3))
    bootstrap = cluster.bootstrap
    cluster.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3)
    group_ids = {client: group_on(bootstrap, client, 2) for client in clients()}
    feeder, groups = start(closing, bootstrap, group_ids, size=1)
    before = members_of(bootstrap, groups)
    assert all(len(members) == 1 for members in before.values())
    steady = [group for group in groups if group.client != STARTS_AGAIN]
    before.pop(STARTS_AGAIN, None)

    cluster.stop_node(2)
    assert {coordinator_of(bootstrap, group.group_id) for group in groups} <= {1, 3}
    wait_for_more(groups, SECONDS, more=100)
    assert members_of(bootstrap, steady) == before

    cluster.start_node(2)
    cluster.stop_node(3)
    wait_for_more(groups, SECONDS, more=100)
    wait_for_all(groups, feeder.stop(), SECONDS)
    assert members_of(bootstrap, steady) == before


def coordinator_of(bootstrap: str, group_id: str) -> int:
    request = FindCoordinatorRequest(key_type=GROUP_KEY, coordinator_keys=[group_id])
    with Requests(bootstrap.split(",")[0]) as connection:
        (found,) = connection.call(request, 4).coordinators
    return int(found.node_id)


def group_on(bootstrap: str, client: str, node_id: int) -> str:
    """A group's name that makes a node its coordinator."""
    names = (f"{client}-{number}" for number in range(100))
    return next(name for name in names if coordinator_of(bootstrap, name) == node_id)


def test_members_restart_one_by_one_and_the_broker_is_killed(
    new_broker: NewBroker, closing: ExitStack
) -> None:
    broker = new_broker(CONFIGS)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    # librdkafka's members have this in test_confluent_groups.py and test_group_protocols.py.
    others = [client for client in clients() if not client.startswith("librdkafka")]
    group_ids = {client: f"group-{client}" for client in others}
    feeder, groups = start(closing, broker.bootstrap, group_ids, size=2)
    for position in range(2):
        with ThreadPoolExecutor(len(groups)) as pool:
            for done in [pool.submit(group.restart, position) for group in groups]:
                done.result()
        wait_for_more(groups, SECONDS)
    broker.kill()
    broker.start()
    wait_for_more(groups, SECONDS)
    wait_for_all(groups, feeder.stop(), SECONDS)
    # A member that came back as a new one has left an old one, which is there until its session
    # ends.
    assert all(group.is_whole for group in groups), [g.client for g in groups if not g.is_whole]
    deadline = time.monotonic() + SECONDS
    while counts := odd_counts(broker.bootstrap, groups):
        assert time.monotonic() < deadline, counts
        time.sleep(1)
