"""Requests to write, read and find records."""

from __future__ import annotations

import time

from conformance.harness.raw import record_batch
from conformance.security.requests.vocabulary import (
    MISSING,
    TOPICS,
    TRANSACTIONS,
    Requests,
    TopicIds,
)
from kafkalite.wire.messages import (
    delete_records,
    describe_producers,
    fetch,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from kafkalite.wire.record_batch import Record, build_batch

_NOBODY = 123_456_789
_NOW_MS = int(time.time() * 1000)


def _produce(ids: TopicIds | None, transactional_id: str | None = None) -> produce.ProduceRequest:
    records = record_batch(b"x", timestamp_ms=_NOW_MS)
    if transactional_id is not None:
        records = build_batch(
            [Record(timestamp=_NOW_MS, value=b"x")],
            producer_id=_NOBODY,
            producer_epoch=0,
            base_sequence=5,  # the first one would be let in
            is_transactional=True,
        )
    data = []
    for name in (*TOPICS, *(MISSING if ids is None else ())):
        partition = produce.PartitionProduceData(index=0, records=records)
        topic = produce.TopicProduceData(partition_data=[partition])
        if ids is None:
            topic.name = name
        else:
            topic.topic_id = ids[name]
        data.append(topic)
    return produce.ProduceRequest(
        transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=data
    )


def _fetch(ids: TopicIds | None) -> fetch.FetchRequest:
    topics = []
    for name in (*TOPICS, *(MISSING if ids is None else ())):
        partition = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
        topic = fetch.FetchTopic(partitions=[partition])
        if ids is None:
            topic.topic = name
        else:
            topic.topic_id = ids[name]
        topics.append(topic)
    return fetch.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics)


def _list_offsets() -> list_offsets.ListOffsetsRequest:
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-2)
    return list_offsets.ListOffsetsRequest(
        replica_id=-1,
        topics=[
            list_offsets.ListOffsetsTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _delete_records() -> delete_records.DeleteRecordsRequest:
    partition = delete_records.DeleteRecordsPartition(partition_index=0, offset=0)
    return delete_records.DeleteRecordsRequest(
        topics=[
            delete_records.DeleteRecordsTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
        timeout_ms=1000,
    )


def _epochs() -> offset_for_leader_epoch.OffsetForLeaderEpochRequest:
    partition = offset_for_leader_epoch.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopic(topic=name, partitions=[partition])
            for name in TOPICS
        ],
    )


def _part_0(ids: TopicIds) -> Requests:
    return {
        "produce by name": (_produce(None), 12),
        "produce by id": (_produce(ids), 13),
        "fetch by name": (_fetch(None), 12),
        "fetch by id": (_fetch(ids), None),
        "list offsets": (_list_offsets(), None),
        "offsets of epochs": (_epochs(), None),
        "delete records": (_delete_records(), None),
        "idempotent producer": (
            init_producer_id.InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=1000
            ),
            None,
        ),
        **{
            f"{what} transaction, {name}": (request, version)
            for name in TRANSACTIONS
            for what, request, version in (
                ("produce in a", _produce(None, name), 12),
                # So that there is none where it may be.
                (
                    "begin a",
                    init_producer_id.InitProducerIdRequest(name, transaction_timeout_ms=2**31 - 1),
                    None,
                ),
            )
        },
        "describe producers": (
            describe_producers.DescribeProducersRequest(
                topics=[
                    describe_producers.TopicRequest(name=name, partition_indexes=[0])
                    for name in (*TOPICS, *MISSING, "not a name")
                ]
            ),
            None,
        ),
    }


def records(ids: TopicIds) -> Requests:
    """By name."""
    return {**_part_0(ids)}
