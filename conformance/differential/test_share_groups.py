"""Share groups (KIP-932): heartbeats, description, fetching, acknowledging, offsets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import ask_in_other_protocols
from conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    NOTHING,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    beat,
    configure,
    delete_records,
    describe,
    offsets,
    produce,
    until_ready,
)
from conformance.differential.test_share_states import initialize, queue
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkalite.wire.messages.share_fetch import ForgottenTopic, ShareFetchRequest

__all__ = ["queue"]  # the fixture


@pytest.fixture
def member(pair: Pair, group: str, queue: str) -> Callable[..., Member]:
    """A member of a group whose states begin at 0: `member("name")`."""
    initialize(pair, group, queue, 0)
    return lambda name="m-1": Member(pair, group, queue, name)


# Membership


def test_what_is_refused_of_a_heartbeat(pair: Pair, group: str, queue: str) -> None:
    first = {"subscribed_topic_names": [queue]}
    for fields in (
        first | {"group_id": ""},
        first | {"rack_id": ""},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": None},
        {"member_epoch": 3},
        {"member_epoch": -1},
        {"member_epoch": -2},
    ):
        beat(pair, group, **fields)
    beat(pair, group, "", **first)
    beat(pair, group, "x" * 37, **first)


def test_members_come_and_go(pair: Pair, group: str, queue: str) -> None:
    beat(pair, group, subscribed_topic_names=[queue], rack_id="r")
    until_ready(pair, group, queue, 2)
    describe(pair, group, "nil", "")
    time.sleep(1.1)
    beat(pair, group, member_epoch=2)
    describe(pair, group)
    beat(pair, group, member_epoch=3)
    beat(pair, group, member_epoch=2)
    beat(pair, group, member_epoch=9)
    beat(pair, group, member_epoch=1)
    beat(pair, group, "m-2", member_epoch=1)
    beat(pair, group, "m-2", member_epoch=-1)
    beat(pair, group, "m-1", member_epoch=3, subscribed_topic_names=[queue, "nil"])
    describe(pair, group)
    for types in ([], ["share"], ["consumer"]):
        request = ListGroupsRequest(types_filter=types, states_filter=["stable"])
        found = [
            [
                each
                for each in side.ask(ApiKey.LIST_GROUPS, 5, request).groups
                if each.group_id == group
            ]
            for side in pair.sides
        ]
        pair.compare("LIST_GROUPS v5", *found, api=ApiKey.LIST_GROUPS, version=5)
    beat(pair, group, member_epoch=-1)
    describe(pair, group)
    offsets(pair, group, None)
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    describe(pair, group)


def test_other_protocols(pair: Pair, group: str, queue: str) -> None:
    beat(pair, group, subscribed_topic_names=[queue])
    until_ready(pair, group, queue, 2)
    ask_in_other_protocols(pair, group, queue)
    commit = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name=queue,
                partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)],
            )
        ],
    )
    pair.ask(ApiKey.OFFSET_COMMIT, 9, commit)
    asked = OffsetFetchRequestGroup(group_id=group, topics=None)
    pair.ask(ApiKey.OFFSET_FETCH, 9, OffsetFetchRequest(groups=[asked]))
    pair.ask(ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group]))
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))


# Offsets


def alter(pair: Pair, group: str, topic: str, partition: int, offset: int) -> None:
    each = AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
    request = AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[each])],
    )
    pair.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request)


def forget(pair: Pair, group: str, *topics: str) -> None:
    request = DeleteShareGroupOffsetsRequest(
        group_id=group,
        topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics],
    )
    pair.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request)


def test_offsets_are_set_and_forgotten(pair: Pair, group: str, queue: str) -> None:
    produce(pair, queue, 5)
    offsets(pair, group, None)
    # Not of partitions that a topic does not have: Apache Kafka asks its coordinator over and over.
    offsets(pair, group, [(queue, [0, 1]), ("nil", [0])])
    offsets(pair, group, [])
    forget(pair, group, queue)
    alter(pair, group, queue, 0, 3)
    until_ready(pair, group, queue, 1)
    offsets(pair, group, None)
    offsets(pair, group, [(queue, [0, 1])])
    alter(pair, group, queue, 7, 1)
    alter(pair, group, "nil", 0, 1)
    alter(pair, "", queue, 0, 1)
    describe(pair, group)
    forget(pair, group, queue, "nil")
    offsets(pair, group, None)
    forget(pair, "", queue)
    forget(pair, "nil", queue)


def test_offsets_of_a_group_with_members(pair: Pair, group: str, queue: str) -> None:
    beat(pair, group, subscribed_topic_names=[queue])
    until_ready(pair, group, queue, 2)
    alter(pair, group, queue, 0, 3)
    forget(pair, group, queue)
    offsets(pair, group, None)


# Fetching and acknowledging


@pytest.mark.parametrize("version", [1, 2])
def test_fetched_and_acknowledged(pair: Pair, queue: str, member: Any, version: int) -> None:
    produce(pair, queue, 5, 5, 5)
    m = member()
    m.fetch(version=version)
    m.fetch((0, 4, ACCEPT), version=version)
    m.say((5, 9, RELEASE), (10, 14, REJECT), version=version)
    m.fetch(version=version)
    m.say((5, 9, ACCEPT, ACCEPT, GAP, REJECT, RELEASE), version=version)
    m.fetch(version=version)
    offsets(pair, m.group, None)
    m.say((9, 9, ACCEPT), version=version)
    m.fetch(version=version, epoch=-1, without_topics=True)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_refused_of_a_fetch(pair: Pair, queue: str, member: Any, version: int) -> None:
    m = member()
    for fields in (
        {"group_id": None},
        {"member_id": None},
        {"member_id": ""},
        {"member_id": "x" * 37},
        {"epoch": 1},
        {"epoch": -1},
    ):
        m.fetch(version=version, **fields)
        m.say(version=version, **fields)
    m.say(version=version, epoch=0)
    m.fetch((0, 0, ACCEPT), version=version, epoch=0)
    m.fetch(version=version, epoch=0)
    m.fetch(version=version, epoch=7)
    m.say(version=version, epoch=7)
    m.fetch(version=version, epoch=1, partition=9)
    m.say(version=version, epoch=2, partition=9)
    m.say((0, 0, ACCEPT), version=version, epoch=3, partition=9)
    m.fetch(version=version, epoch=4, max_records=0)
    m.fetch(version=version, epoch=5, max_bytes=0)


def test_acknowledgements_that_make_no_sense(pair: Pair, queue: str, member: Any) -> None:
    produce(pair, queue, 5, 5)
    m, n = member(), member("m-2")
    m.fetch(max_records=5)
    n.fetch()
    for said in (
        (3, 1, ACCEPT),
        (0, 4),
        (0, 4, ACCEPT, ACCEPT),
        (0, 4, 5),
        (0, 4, -1),
        (0, 4, RENEW),
        (0, 20, ACCEPT),
        (30, 40, ACCEPT),
        (5, 9, ACCEPT),
        (3, 6, ACCEPT),
    ):
        m.say(said)
        m.fetch(said)
    m.say((2, 3, ACCEPT), (0, 1, ACCEPT))
    m.say((0, 1, ACCEPT), (1, 2, ACCEPT))
    m.say((0, 1, ACCEPT), (2, 3, REJECT))
    m.say((0, 3, ACCEPT))
    m.say((4, 4, RELEASE))
    m.say((4, 4, ACCEPT))


def test_acknowledgements_around_the_start(pair: Pair, queue: str, member: Any) -> None:
    """They begin before the start offset, and nothing behind it is in flight."""
    produce(pair, queue, 5)
    m = member()
    m.fetch()
    m.say((0, 4, ACCEPT))
    m.say((3, 6, ACCEPT))
    m.fetch((3, 6, ACCEPT))
    m.say((5, 6, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])


def test_renewals(pair: Pair, queue: str, member: Any) -> None:
    produce(pair, queue, 3)
    m = member()
    m.fetch()
    m.say((0, 2, RENEW), version=1)
    m.say((0, 2, RENEW))
    m.say((0, 2, RENEW), is_renew_ack=True)
    m.say((0, 2, RENEW, ACCEPT, RELEASE), is_renew_ack=True)
    m.fetch(is_renew_ack=True)
    m.epoch -= 1
    m.fetch((0, 0, RENEW), is_renew_ack=True, **NOTHING)
    m.fetch()
    configure(pair, m.group, **{"share.renew.acknowledge.enable": "false"})
    m.say((0, 0, RENEW), is_renew_ack=True)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize(
    ("most", "size"), [(1, 500), (3, 500), (7, 2), (12, 4), (500, 5), (1, 0), (4, -3)]
)
def test_how_many_are_acquired(
    pair: Pair, queue: str, member: Any, mode: int, most: int, size: int
) -> None:
    produce(pair, queue, 2, 5, 1, 1, 6)
    m, n = member(), member("m-2")
    for _ in range(3):
        m.fetch(max_records=most, batch_size=size, share_acquire_mode=mode)
        n.fetch(max_records=most, batch_size=size, share_acquire_mode=mode)
    m.fetch(epoch=-1, without_topics=True)
    time.sleep(0.5)  # Apache Kafka answers before what is released is stored
    n.fetch(max_records=most, batch_size=size, share_acquire_mode=mode)


def test_a_poison_record(pair: Pair, queue: str, member: Any) -> None:
    produce(pair, queue, 8)
    m = member()
    for _ in range(12):
        answer = m.fetch(max_wait_ms=100)
        said = [
            (each.first_offset, each.last_offset, RELEASE)
            for topic in answer.responses
            for partition in topic.partitions
            for each in partition.acquired_records
        ]
        if said:
            m.say(*said)
    offsets(pair, m.group, [(queue, [0])])


def test_limits_of_a_group(pair: Pair, queue: str, member: Any) -> None:
    m = member()
    configure(
        pair,
        m.group,
        **{"share.delivery.count.limit": "2", "share.partition.max.record.locks": "100"},
    )
    produce(pair, queue, *([10] * 12))
    m.fetch(max_records=95)
    m.fetch()
    m.say((0, 9, RELEASE))
    m.fetch()
    m.say((0, 4, RELEASE), (5, 9, ACCEPT))
    m.fetch()


def test_sessions_forget_and_go_on(pair: Pair, queue: str, member: Any) -> None:
    m = member()
    m.fetch()
    produce(pair, queue, 2)

    def forgotten(side: Side) -> Any:
        return ShareFetchRequest(
            group_id=m.group,
            member_id=m.name,
            share_session_epoch=1,
            max_wait_ms=100,
            max_records=10,
            batch_size=10,
            forgotten_topics_data=[ForgottenTopic(topic_id=side.topic_id(queue), partitions=[0])],
        )

    pair.ask(ApiKey.SHARE_FETCH, 2, forgotten, connection=m.name)
    m.epoch = 2
    m.fetch()
    m.fetch(without_topics=True)


@pytest.mark.parametrize("reset", ["latest", "earliest", "by_duration:P1D"])
def test_where_a_group_begins(pair: Pair, group: str, queue: str, reset: str) -> None:
    produce(pair, queue, 3)
    configure(pair, group, **{"share.auto.offset.reset": reset})
    initialize(pair, group, queue, 0, start=-1)
    m = Member(pair, group, queue)
    m.fetch()
    produce(pair, queue, 2)
    m.fetch()


def test_records_that_are_gone(pair: Pair, queue: str, member: Any) -> None:
    produce(pair, queue, 3, 3, 3)
    m = member()
    m.fetch(max_records=3)
    delete_records(pair, queue, 5)
    m.fetch(max_wait_ms=100)
    m.fetch()
    m.say((0, 2, ACCEPT))
    m.fetch(epoch=-1, without_topics=True)


def test_what_is_gone_stays_in_flight(pair: Pair, queue: str, member: Any) -> None:
    """A batch of which only some records were delivered, all of them deleted since."""
    other = member("m-2")
    other.fetch(max_wait_ms=100)
    produce(pair, queue, 6, 6)
    m = member()
    m.fetch(max_records=3, share_acquire_mode=1)
    delete_records(pair, queue, 8)
    m.fetch(max_wait_ms=100)
    m.fetch(epoch=-1, without_topics=True)
    time.sleep(0.5)  # Apache Kafka answers before what is released is stored
    other.say((5, 9, ACCEPT))
    other.fetch()
    other.say((8, 11, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])


def test_a_partition_without_a_state(pair: Pair, group: str, queue: str) -> None:
    m = Member(pair, group, queue)
    m.fetch()
    m.fetch(partition=1)
