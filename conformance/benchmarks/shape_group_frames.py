"""Frames of what members of groups send. A group, its member and its transaction are new."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from conformance.benchmarks.heartbeats import ConsumerMember
from conformance.benchmarks.shape_frames import (
    Frames,
    Producer,
    Topics,
    ask_until_loaded,
    one_frame,
    wait_for_coordinator,
)
from conformance.benchmarks.shapes import Shape
from conformance.benchmarks.tiny import PatientMember, joined
from conformance.harness.broker import Broker
from conformance.harness.members import Requests
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import (
    add_offsets_to_txn,
    offset_commit,
    offset_fetch,
    txn_offset_commit,
)

_BY_GROUPS: Final = 8
_WITH_FENCING: Final = 3


def _commit_request(shape: Shape, topics: Topics, member: PatientMember) -> Any:
    partitions = [
        offset_commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        for index in range(shape.partitions)
    ]
    return offset_commit.OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        topics=[
            offset_commit.OffsetCommitRequestTopic(**named, partitions=partitions)
            for named in topics.of(shape)
        ],
    )


def _offset_commit(shape: Shape, topics: Topics) -> Frames:
    return one_frame(shape, _commit_request(shape, topics, joined(topics.broker)))


def _offset_fetch(shape: Shape, topics: Topics) -> Frames:
    member = joined(topics.broker)
    committed = Shape("offset_commit", 8, shape.topics, shape.partitions)
    ask_until_loaded(
        topics.broker,
        ApiKey.OFFSET_COMMIT,
        committed.version,
        _commit_request(committed, topics, member),
    )
    indexes = list(range(shape.partitions))
    if shape.version < _BY_GROUPS:
        asked = [
            offset_fetch.OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
            for name in topics.names
        ]
        return one_frame(
            shape, offset_fetch.OffsetFetchRequest(group_id=member.group_id, topics=asked)
        )
    group = offset_fetch.OffsetFetchRequestGroup(
        group_id=member.group_id,
        topics=[
            offset_fetch.OffsetFetchRequestTopics(**named, partition_indexes=indexes)
            for named in topics.of(shape)
        ],
    )
    return one_frame(shape, offset_fetch.OffsetFetchRequest(groups=[group]))


def _heartbeat(shape: Shape, topics: Topics) -> Frames:
    return one_frame(shape, joined(topics.broker).heartbeat_request())


def _sync_group(shape: Shape, topics: Topics) -> Frames:
    return one_frame(shape, joined(topics.broker).sync_request())


def _join_group(shape: Shape, topics: Topics) -> Frames:
    """The leader joins again while its assignment is waited for: with the same protocols."""
    member = joined(topics.broker)
    body = member.join_request()
    body.rebalance_timeout_ms = body.session_timeout_ms
    ask_until_loaded(topics.broker, ApiKey.JOIN_GROUP, shape.version, body)
    return one_frame(shape, body)


def _wait_until_loaded(broker: Broker, group_id: str) -> None:
    """The coordinator may be named before it has loaded; then it knows no group."""
    group = offset_fetch.OffsetFetchRequestGroup(group_id=group_id, topics=None)
    body = offset_fetch.OffsetFetchRequest(groups=[group])
    ask_until_loaded(broker, ApiKey.OFFSET_FETCH, _BY_GROUPS, body)


def _consumer_group_heartbeat(shape: Shape, topics: Topics) -> Frames:
    with Requests(topics.broker.bootstrap) as connection:
        group_id = f"shape-{uuid.uuid4().hex}"
        wait_for_coordinator(topics.broker, group_id, kind=0)
        _wait_until_loaded(topics.broker, group_id)
        member = ConsumerMember(group_id, connection, topics.names[0])
        member.request.topic_partitions = []
        is_news = member.beat(with_all=True)
        while is_news:
            is_news = member.beat()
    return one_frame(shape, member.request)


def _txn_offset_commit(shape: Shape, topics: Topics) -> Frames:
    member = joined(topics.broker)
    producer = Producer.new(Shape("produce", 12, producer="transactional"), topics)
    ask_until_loaded(
        topics.broker,
        ApiKey.ADD_OFFSETS_TO_TXN,
        3,
        add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=producer.transactional_id or "",
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=member.group_id,
        ),
    )
    partitions = [
        txn_offset_commit.TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        for index in range(shape.partitions)
    ]
    fenced = (
        {"generation_id": member.generation_id, "member_id": member.member_id}
        if shape.version >= _WITH_FENCING
        else {}
    )
    body = txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id or "",
        group_id=member.group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[
            txn_offset_commit.TxnOffsetCommitRequestTopic(name=name, partitions=partitions)
            for name in topics.names
        ],
        **fenced,
    )
    ask_until_loaded(topics.broker, ApiKey.TXN_OFFSET_COMMIT, shape.version, body)
    return one_frame(shape, body)


def _end_txn(shape: Shape, topics: Topics) -> Frames:
    """The end of a transaction that has ended: what is asked first can be asked but once."""
    producer = Producer.new(Shape("produce", 12, producer="transactional"), topics)
    return one_frame(shape, producer.end(topics, shape.version, commit=True))


def _add_partitions_to_txn(shape: Shape, topics: Topics) -> Frames:
    """Partitions that the transaction has."""
    added = Shape("produce", 11, shape.topics, shape.partitions, producer="transactional")
    return one_frame(shape, Producer.new(added, topics).adding(added, topics))


GROUP_FRAMES: Final[dict[str, Callable[[Shape, Topics], Frames]]] = {
    "offset_commit": _offset_commit,
    "offset_fetch": _offset_fetch,
    "heartbeat": _heartbeat,
    "join_group": _join_group,
    "sync_group": _sync_group,
    "consumer_group_heartbeat": _consumer_group_heartbeat,
    "txn_offset_commit": _txn_offset_commit,
    "end_txn": _end_txn,
    "add_partitions_to_txn": _add_partitions_to_txn,
}
