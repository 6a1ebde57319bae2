"""Requests that are odd in two ways at once: which of the two is answered."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_produce import LAST, batch
from conformance.differential.test_topics import (
    CREATE_VERSIONS,
    DELETE_VERSIONS,
    PARTITIONS_VERSIONS,
    wanted,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

# Topics of a request, of which "t" is there; all, some or none of them are for the controller.
NAMES = [
    *(["t"], ["t", "t"], ["n", "n"], ["n", "n", "m"], ["__cluster_metadata"], [""], ["", ""]),
    *(["__cluster_metadata", "n"], ["__cluster_metadata"] * 2, ["a b", "n", "n"], []),
]


def named(names: list[str], topic: str) -> list[str]:
    return [topic if each == "t" else each for each in names]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_topics_are_created_too_late(pair: Pair, topic: str, timeout_ms: int) -> None:
    pair.create_topic(topic)
    for names, version in itertools.product(NAMES, CREATE_VERSIONS):
        request = CreateTopicsRequest(
            topics=[wanted(each) for each in named(names, topic)],
            timeout_ms=timeout_ms,
            validate_only=version % 2 == 0,
        )
        pair.ask(ApiKey.CREATE_TOPICS, version, request)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_topics_are_deleted_too_late(pair: Pair, topic: str, timeout_ms: int) -> None:
    pair.create_topic(topic)
    for names, version in itertools.product(NAMES, DELETE_VERSIONS):
        chosen = named(names, topic)
        request = DeleteTopicsRequest(
            topic_names=chosen,
            topics=[DeleteTopicState(name=each) for each in chosen] if version > 5 else [],
            timeout_ms=timeout_ms,
        )
        pair.ask(ApiKey.DELETE_TOPICS, version, request)


# By id, 0 for none, and by name.
IDS = [
    *([(0, None)], [(0, None), (0, "n")], [(1, "n")], [(1, "n"), (2, None)], [(1, None)] * 2),
    *([(1, None), (1, None), (0, "t")], [(1, None), (0, "n"), (0, "n")], [(1, None)]),
]


def test_topics_are_deleted_by_id_too_late(pair: Pair, topic: str) -> None:
    pair.create_topic(topic)
    for asked in IDS:
        topics = [
            DeleteTopicState(topic_id=UUID(int=number), name=topic if name == "t" else name)
            for number, name in asked
        ]
        pair.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=topics, timeout_ms=0))


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_topics_grow_too_late(pair: Pair, topic: str, timeout_ms: int) -> None:
    pair.create_topic(topic)
    for names, version in itertools.product(NAMES, PARTITIONS_VERSIONS):
        topics = [
            CreatePartitionsTopic(name=each, count=3, assignments=None)
            for each in named(names, topic)
        ]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms)
        pair.ask(ApiKey.CREATE_PARTITIONS, version, request)


def test_other_changes_come_too_late(pair: Pair, topic: str) -> None:
    pair.create_topic(topic)
    for names in NAMES:
        chosen = named(names, topic)
        topics = [TopicPartitions(topic=each, partitions=[0, 0]) for each in chosen]
        for version in range(3):
            elect = ElectLeadersRequest(topic_partitions=topics, timeout_ms=0)
            pair.ask(ApiKey.ELECT_LEADERS, version, elect)
        partitions = [ReassignablePartition(partition_index=0, replicas=[1])]
        for version in range(2):
            moved = [ReassignableTopic(name=each, partitions=partitions) for each in chosen]
            move = AlterPartitionReassignmentsRequest(topics=moved, timeout_ms=0)
            pair.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, move)


@pytest.mark.parametrize("isolation_level", [-1, 2])
@pytest.mark.parametrize("partitions", [[7], [0], [0, 7], []], ids=str)
@pytest.mark.parametrize("is_known", [True, False])
def test_an_unknown_isolation_level(
    pair: Pair, topic: str, isolation_level: int, partitions: list[int], is_known: bool
) -> None:
    if is_known:
        pair.create_topic(topic)
    for version in range(4, 13):
        fetch = FetchRequest(
            max_wait_ms=1,
            isolation_level=isolation_level,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[
                        FetchPartition(partition=each, partition_max_bytes=1000)
                        for each in partitions
                    ],
                )
            ],
        )
        pair.ask(ApiKey.FETCH, version, fetch)
    for version in range(2, 12):
        offsets = ListOffsetsRequest(
            isolation_level=isolation_level,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=each, timestamp=-1)
                        for each in partitions
                    ],
                )
            ],
        )
        pair.ask(ApiKey.LIST_OFFSETS, version, offsets)


@pytest.mark.parametrize("producers", [[-1, -1], [5, 5, -1], [-1, 5, 5], [5, -1, 5]], ids=str)
def test_refused_markers_of_one_producer(pair: Pair, topic: str, producers: list[int]) -> None:
    pair.create_topic(topic)
    for partitions, version in itertools.product([[0], [7], [0, 7]], (1, 2)):
        topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=partitions)]
        markers = [
            WritableTxnMarker(producer_id=each, transaction_result=True, topics=topics)
            for each in producers
        ]
        pair.ask(ApiKey.WRITE_TXN_MARKERS, version, WriteTxnMarkersRequest(markers=markers))


GOOD = batch(1)
DAMAGED = bytes(GOOD)[:-2] + b"\7" + bytes(GOOD)[-1:]
BATCHES: dict[str, Any] = {
    "good": GOOD,
    "short": b"\0" * 7,
    "empty": b"",
    "damaged": DAMAGED,
    "cut": bytes(GOOD)[:-1],
    "old": bytes(GOOD)[:16] + b"\1" + bytes(GOOD)[17:],
    "transactional": batch(
        1, producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True
    ),
}


@pytest.mark.parametrize("version", [3, 12, LAST])
@pytest.mark.parametrize("last", BATCHES)
def test_a_partition_twice(pair: Pair, topic: str, version: int, last: str) -> None:
    """In one element of its topic, or in two; and what was appended then."""
    pair.create_topic(topic)
    for first, is_one_topic in itertools.product(BATCHES, (True, False)):

        def request(
            side: Side, *, first: str = first, is_one_topic: bool = is_one_topic
        ) -> ProduceRequest:
            rows = [PartitionProduceData(index=0, records=BATCHES[each]) for each in (first, last)]
            parts = [rows] if is_one_topic else [[row] for row in rows]
            name = {"topic_id": side.topic_id(topic)} if version > 12 else {"name": topic}
            data = [TopicProduceData(partition_data=part, **name) for part in parts]
            return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data)

        pair.ask(ApiKey.PRODUCE, version, request)
        partitions = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
        latest = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=partitions)])
        pair.ask(ApiKey.LIST_OFFSETS, 5, latest)
