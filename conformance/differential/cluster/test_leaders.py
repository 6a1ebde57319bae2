"""Leaders: who is not says so and names the one (KIP-951); elections, reassignments, epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.differential.broker_side import at
from conformance.differential.cluster.topics import (
    NODES,
    SPREAD,
    create,
    described,
    fetching,
    producing,
)
from conformance.differential.comparison import Pair
from conformance.differential.test_metadata import about
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

ALL = range(len(SPREAD))
NOT_LEADER_OR_FOLLOWER = 6
PREFERRED, UNCLEAN = 0, 1
# From here on a consumer may read from any replica (KIP-392).
FOLLOWERS_SINCE = 11


def not_led_by(node: int) -> list[int]:
    return [index for index in ALL if SPREAD[index][0] != node]


def without_replica_on(node: int) -> list[int]:
    return [index for index in ALL if node not in SPREAD[index]]


def moved(cluster: Pair, topic: str) -> None:
    """Have the first partition led by the second node, and so in another epoch."""
    reassign(cluster, topic, {0: [2, 1]})
    elect(cluster, topic, [0])


@pytest.mark.parametrize("version", range(3, 14))
def test_producing_elsewhere(cluster: Pair, spread: str, version: int) -> None:
    for node in NODES:
        for acks in (1, -1):
            partitions = not_led_by(node)
            body = producing(spread, version, partitions, acks)
            answer, _ = cluster.ask(ApiKey.PRODUCE, version, body, connection=at(node))
            found = answer.responses[0].partition_responses
            assert {each.error_code for each in found} == {NOT_LEADER_OR_FOLLOWER}
        led = [index for index in ALL if index not in partitions]
        body = producing(spread, version, led)
        cluster.ask(ApiKey.PRODUCE, version, body, connection=at(node))
        body = producing(spread, version, [*ALL])
        cluster.ask(ApiKey.PRODUCE, version, body, connection=at(node))


@pytest.mark.parametrize("version", range(4, 19))
def test_fetching_elsewhere(cluster: Pair, spread: str, version: int) -> None:
    for node in NODES:
        partitions = without_replica_on(node) if version >= FOLLOWERS_SINCE else not_led_by(node)
        for epoch in (-1, 0, 1) if partitions else ():
            body = fetching(spread, version, partitions, epoch=epoch)
            cluster.ask(ApiKey.FETCH, version, body, connection=at(node))


def test_fetching_from_followers(cluster: Pair, topic: str) -> None:
    """The records that all replicas have, once each knows that all have them."""
    create(cluster, topic)
    for node in (1, 2):
        led = [index for index in (0, 1) if SPREAD[index][0] == node]
        cluster.ask(ApiKey.PRODUCE, 9, producing(topic, 9, led), connection=at(node))
    for node in NODES:
        held = [index for index in (0, 1) if node in SPREAD[index]]
        for side in cluster.sides:
            side.until(ApiKey.FETCH, 12, fetching(topic, 12, held), all_have_it, node)
        for version in range(FOLLOWERS_SINCE, 19):
            body = fetching(topic, version, held)
            cluster.ask(ApiKey.FETCH, version, body, connection=at(node))


def all_have_it(answer: Any) -> bool:
    partitions = [each for topic in answer.responses for each in topic.partitions]
    return all(partition.high_watermark == 1 for partition in partitions)


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_elsewhere(cluster: Pair, spread: str, version: int) -> None:
    for node in NODES:
        for epoch in (-1, 0, 1):
            for timestamp in (-1, -2, 0):
                asked = [
                    ListOffsetsPartition(
                        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
                    )
                    for index in ALL
                ]
                topics = [ListOffsetsTopic(name=spread, partitions=asked)]
                request = ListOffsetsRequest(replica_id=-1, topics=topics, timeout_ms=5000)
                cluster.ask(ApiKey.LIST_OFFSETS, version, request, connection=at(node))


@pytest.mark.parametrize("version", range(3))
def test_deleting_records_elsewhere(cluster: Pair, spread: str, version: int) -> None:
    for node in NODES:
        asked = [DeleteRecordsPartition(partition_index=index, offset=0) for index in ALL]
        topics = [DeleteRecordsTopic(name=spread, partitions=asked)]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=10_000)
        cluster.ask(ApiKey.DELETE_RECORDS, version, request, connection=at(node))


def test_producers_elsewhere(cluster: Pair, spread: str) -> None:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=spread, partition_indexes=[*ALL, 9])]
    )
    for node in NODES:
        cluster.ask(ApiKey.DESCRIBE_PRODUCERS, 0, request, connection=at(node))


@pytest.mark.parametrize("version", range(2, 5))
def test_epochs(cluster: Pair, topic: str, version: int) -> None:
    """The end of each epoch, asked of every node, with current epochs that are old or unknown."""
    create(cluster, topic)
    cluster.ask(ApiKey.PRODUCE, 9, producing(topic, 9, [0]), connection=at(1))
    moved(cluster, topic)
    cluster.ask(ApiKey.PRODUCE, 9, producing(topic, 9, [0]), connection=at(2))
    for node in NODES:
        for current in (-1, 0, 1, 9):
            for epoch in (0, 1, 2, 9):
                asked = [
                    OffsetForLeaderPartition(
                        partition=index, current_leader_epoch=current, leader_epoch=epoch
                    )
                    for index in (*ALL, 9)
                ]
                request = OffsetForLeaderEpochRequest(
                    replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=asked)]
                )
                cluster.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, request, connection=at(node))


def test_the_new_leader_is_named(cluster: Pair, topic: str) -> None:
    """The former leader names the new one, with its epoch and its address."""
    create(cluster, topic)
    moved(cluster, topic)
    for node in NODES:
        cluster.ask(ApiKey.METADATA, 12, about(topic), connection=at(node))
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(topic), connection=at(node))
        for version in (9, 10, 12, 13):
            body = producing(topic, version, [0])
            cluster.ask(ApiKey.PRODUCE, version, body, connection=at(node))
        for version in (11, 12, 15, 16, 18):
            for epoch in (0, 9):
                body = fetching(topic, version, [0], epoch=epoch)
                cluster.ask(ApiKey.FETCH, version, body, connection=at(node))


def elect(
    cluster: Pair,
    topic: str,
    partitions: Sequence[int],
    *,
    version: int = 2,
    kind: int = PREFERRED,
    node: int = 1,
) -> Any:
    wanted = [TopicPartitions(topic=topic, partitions=list(partitions))]
    request = ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=10_000)
    answer, _ = cluster.ask(ApiKey.ELECT_LEADERS, version, request, connection=at(node))
    cluster.settle()
    return answer


@pytest.mark.parametrize("version", range(3))
def test_electing(cluster: Pair, topic: str, version: int) -> None:
    create(cluster, topic)
    for node in NODES:
        elect(cluster, topic, [0, 2, 9], version=version, node=node)
        elect(cluster, f"{topic}-none", [0], version=version, node=node)
        if version:
            elect(cluster, topic, [0, 1], version=version, kind=UNCLEAN, node=node)
            elect(cluster, topic, [0], version=version, kind=7, node=node)
    reassign(cluster, topic, {0: [3, 2, 1], 1: [1, 3, 2]})
    elect(cluster, topic, [1], version=version, node=3)
    for node in NODES:
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(topic), connection=at(node))


def reassign(
    cluster: Pair,
    topic: str,
    replicas: dict[int, list[int] | None],
    *,
    version: int = 1,
    node: int = 1,
    may_change_factor: bool = True,
) -> None:
    """The answers, and what is seen once nothing moves any more."""
    asked = [
        ReassignablePartition(partition_index=index, replicas=nodes)
        for index, nodes in replicas.items()
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=asked)],
        allow_replication_factor_change=may_change_factor,
        timeout_ms=10_000,
    )
    cluster.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, request, connection=at(node))
    everything = ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000)
    for side in cluster.sides:
        side.until(
            ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, everything, lambda answer: not answer.topics
        )
    cluster.settle()
    for each in NODES:
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(topic), connection=at(each))


@pytest.mark.parametrize("version", range(2))
def test_reassigning(cluster: Pair, topic: str, version: int) -> None:
    """To other nodes, more and fewer, in another order. To none that are there. And back."""
    create(cluster, topic, [[1, 2, 3], [2, 3, 1], [3, 1, 2], [2, 1, 3]])
    moves: list[dict[int, list[int] | None]] = [
        {0: [1, 2, 3]},
        {0: [3, 1, 2]},
        {0: [2, 3]},
        {0: [1]},
        {0: [2]},
        {0: [1, 3], 2: [1, 2], 3: [3]},
        {0: [7]},
        {0: []},
        {0: [1, 1]},
        {0: [-1]},
        {0: None, 9: None},
        {9: [1]},
    ]
    if version == 0:  # the same, but for the question whether the factor may change
        moves = moves[1:2] + moves[6:]
    for number, move in enumerate(moves):
        reassign(cluster, topic, move, version=version, node=NODES[number % 3])
    if version:
        for move in moves[2:4]:
            reassign(cluster, topic, move, may_change_factor=False)
    reassign(cluster, f"{topic}-none", {0: [1]}, version=version)


def test_nothing_is_reassigned(cluster: Pair, topic: str) -> None:
    create(cluster, topic)
    for node in NODES:
        for asked in (None, [], [topic], [f"{topic}-none"]):
            topics = (
                None
                if asked is None
                else [
                    ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 9])
                    for name in asked
                ]
            )
            request = ListPartitionReassignmentsRequest(topics=topics, timeout_ms=10_000)
            cluster.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, request, connection=at(node))
