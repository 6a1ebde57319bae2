"""The replica that leads when nodes go and come back, as Apache Kafka 4.3.1 showed it.

`python -m conformance.differential.three_nodes` asks Apache Kafka again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from conformance.differential.three_nodes import STEPS, with_kafkalite
from kafkalite.cluster.image import PartitionState
from kafkalite.cluster.leadership import Rules, after_loss, after_restart, with_leader
from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from tests.kafkalite.clusters import TOPIC_ID

RULES = Rules(min_in_sync=1, unclean=False)


def state_of(replicas: list[int], in_sync: list[int], leader: int) -> PartitionState:
    return PartitionState(replicas, in_sync, leader, leader_epoch=5, partition_epoch=5)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # The leader goes: the first in-sync replica in the order of the assignment leads.
        (
            after_loss(TOPIC_ID, 0, state_of([1, 2, 3], [3, 1, 2], 1), [1], {2, 3}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2, isr=[3, 2]),
        ),
        # A follower goes: no new leader epoch.
        (
            after_loss(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1), [2], {1}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]),
        ),
        # A node that holds nothing goes.
        (after_loss(TOPIC_ID, 0, state_of([1], [1], 1), [2], {1}, RULES), None),
        # It comes back, in sync at once; the leader stays.
        (
            with_leader(TOPIC_ID, 0, state_of([1, 2], [2], 2), {1, 2}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1, 2]),
        ),
        (with_leader(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1), {1, 2}, RULES), None),
        (
            after_restart(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1)),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1),
        ),
        # Nobody else is in sync: it resigns, and is elected when it is back.
        (
            after_restart(TOPIC_ID, 0, state_of([1, 2], [1], 1)),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=-1),
        ),
        (after_restart(TOPIC_ID, 0, state_of([1], [], -1)), None),
    ],
)
def test_leadership(
    record: PartitionChangeRecord | None, expected: PartitionChangeRecord | None
) -> None:
    assert record == expected


def test_who_was_last_known_to_be_eligible_is_forgotten_once_anyone_is_in_sync() -> None:
    state = state_of([1], [], -1)
    state.eligible_leader_replicas = state.last_known_eligible = [1]
    assert with_leader(TOPIC_ID, 0, state, {1}, RULES) == PartitionChangeRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        leader=1,
        isr=[1],
        eligible_leader_replicas=[],
        last_known_elr=[],
    )


# (leader, leader epoch, in-sync replicas, eligible leaders, last known leader, offline), after each
# step, the creation first.
SHOWN: Mapping[str, list[tuple[int, int, list[int], list[int], list[int], list[int]]]] = {
    "one-0": [
        (2, 0, [2], [], [], []),
        (-1, 1, [], [2], [2], [2]),
        *[(2, 2, [2], [], [], [])] * 3,
        (-1, 3, [], [2], [2], [2]),
        (2, 4, [2], [], [], []),
    ],
    "two-0": [
        (2, 0, [2, 3], [], [], []),
        (3, 1, [3], [], [], [2]),
        (3, 1, [2, 3], [], [], []),
        (2, 2, [2], [], [], [3]),
        (2, 2, [2, 3], [], [], []),
        (3, 3, [3], [], [], [2]),
        (3, 3, [2, 3], [], [], []),
    ],
    "two-2": [
        (1, 0, [1, 2], [], [], []),
        (1, 0, [1], [], [], [2]),
        *[(1, 0, [1, 2], [], [], [])] * 3,
        (1, 0, [1], [], [], [2]),
        (1, 0, [1, 2], [], [], []),
    ],
    "three-0": [
        (2, 0, [2, 3, 1], [], [], []),
        (3, 1, [3, 1], [], [], [2]),
        (3, 1, [1, 2, 3], [], [], []),
        (2, 2, [1, 2], [], [], [3]),
        (2, 2, [1, 2, 3], [], [], []),
        (3, 3, [1, 3], [], [], [2]),
        (3, 3, [1, 2, 3], [], [], []),
    ],
    "min2-1": [
        (3, 0, [3, 1, 2], [], [], []),
        (3, 0, [3, 1], [], [], [2]),
        (3, 0, [1, 2, 3], [], [], []),
        (1, 1, [1, 2], [], [], [3]),
        (1, 1, [1, 2, 3], [], [], []),
        (1, 1, [1, 3], [], [], [2]),
        (1, 1, [1, 2, 3], [], [], []),
    ],
    "min3-0": [
        (2, 0, [2, 3, 1], [], [], []),
        (3, 1, [3, 1], [2], [], [2]),
        (3, 1, [1, 2, 3], [], [], []),
        (2, 2, [1, 2], [3], [], [3]),
        (2, 2, [1, 2, 3], [], [], []),
        (3, 3, [1, 3], [2], [], [2]),
        (3, 3, [1, 2, 3], [], [], []),
    ],
}


def test_one_of_three_goes_and_comes_back() -> None:
    seen = with_kafkalite()
    assert len(seen) == 1 + len(STEPS)
    for partition, shown in SHOWN.items():
        assert [state[partition] for state in seen] == shown, partition


def state(b: test_broker, topic: str) -> tuple[int, list[int], list[int], int]:
    """(leader, in-sync replicas, eligible leaders, recovery state)"""
    (found,) = b._running.services.cluster.image.topics[topic].partitions
    return (
        found.leader_id,
        found.in_sync_replicas,
        found.eligible_leader_replicas,
        found.leader_recovery_state,
    )


async def test_who_was_not_in_sync_does_not_lead_by_itself() -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        b.stop_node(3)
        b.stop_node(2)
        assert state(b, "t") == (-1, [], [2], 0)
        b.start_node(3)
        assert state(b, "t") == (-1, [], [2], 0)
        b.start_node(2)
        assert state(b, "t") == (2, [2, 3], [], 0)


async def test_unless_unclean_elections_are_allowed(connect: Any) -> None:
    async with test_broker({"unclean.leader.election.enable": True}, nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        b.stop_node(3)
        b.stop_node(2)
        b.start_node(3)
        assert state(b, "t") == (3, [3], [], 1)


@pytest.mark.parametrize("enabled", [True, False])
async def test_leadership_returns_by_itself(autojump_clock: MockClock, enabled: bool) -> None:
    async with test_broker({"auto.leader.rebalance.enable": enabled}, nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        b.stop_node(2)
        b.start_node(2)
        await trio.sleep(290)
        assert state(b, "t")[0] == 3
        await trio.sleep(20)
        assert state(b, "t")[0] == (2 if enabled else 3)


async def alter(connect: Any, b: test_broker, kind: int, resource: str, *config: str) -> None:
    client = await connect(b, 1)
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configs=[AlterableConfig(name=config[0], config_operation=0, value=config[1])],
            )
        ]
    )
    answer = await client.ask(request)
    assert answer.responses[0].error_code == 0, answer


async def test_allowing_them_elects_at_once(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        b.stop_node(3)
        b.stop_node(2)
        b.start_node(3)
        assert state(b, "t")[0] == -1
        await alter(connect, b, 2, "t", "unclean.leader.election.enable", "true")
        assert state(b, "t") == (3, [3], [], 1)


@pytest.mark.parametrize(("kind", "resource"), [(2, "t"), (4, "")])
async def test_another_number_to_be_in_sync_clears_eligible_leaders(
    connect: Any, kind: int, resource: str
) -> None:
    """A topic's, or all."""
    two = {"min.insync.replicas": "2"}
    async with test_broker(nodes=3) as b:
        for name in "tu":
            new = NewTopic(name, assignments=[(0, [1, 2, 3])], configs=two)
            b._running.services.topics.create(new)
        b.stop_node(3)
        b.stop_node(2)
        client = await connect(b, 1)
        ask = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in "tu"])

        async def eligible() -> list[Any]:
            answer = await client.ask(ask)
            return [topic.partitions[0].eligible_leader_replicas for topic in answer.topics]

        assert await eligible() == [[2], [2]]
        await alter(connect, b, kind, resource, "min.insync.replicas", "1")
        assert await eligible() == ([[], [2]] if resource else [[], []])
