"""The consumer protocol (KIP-848): ConsumerGroupHeartbeat, ConsumerGroupDescribe, offsets of
members."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import compare_descriptions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.stored import encode

VERSIONS = (0, 1)
BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


def beat(pair: Pair, group: str, version: int = 1, **fields: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(**{"group_id": group, "member_id": "m-1"} | fields)
    return pair.ask(BEAT, version, request)[0]


def joining(*topics: str, **fields: Any) -> dict[str, Any]:
    """The fields of a first heartbeat."""
    return {
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": list(topics),
        "topic_partitions": [],
    } | fields


def owning(pair: Pair, group: str, topic: str, *partitions: int, **fields: Any) -> Any:
    """A heartbeat that says what is owned, by each side's own topic id."""

    def request(side: Side) -> ConsumerGroupHeartbeatRequest:
        owned = TopicPartitions(topic_id=side.topic_id(topic), partitions=list(partitions))
        return ConsumerGroupHeartbeatRequest(
            **{"group_id": group, "member_id": "m-1", "topic_partitions": [owned]} | fields
        )

    return pair.ask(BEAT, 1, request)[0]


def describe(pair: Pair, *groups: str) -> None:
    """Compare what both say of the groups."""
    for version in VERSIONS:
        compare_descriptions(
            pair, ApiKey.CONSUMER_GROUP_DESCRIBE, version, ConsumerGroupDescribeRequest, groups
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_refused(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic)
    first = joining(topic)
    for fields in (
        {"member_id": ""} | ({} if version == 0 else first),
        first | {"group_id": ""},
        first | {"instance_id": ""},
        first | {"instance_id": " "},
        first | {"rack_id": ""},
        first | {"rebalance_timeout_ms": -1},
        first | {"topic_partitions": None},
        first | {"subscribed_topic_names": None},
        first | {"server_assignor": "sticky"},
        first | {"server_assignor": ""},
        {"member_epoch": 2},
        {"member_epoch": -1},
        {"member_epoch": -2},
        {"member_epoch": -2, "instance_id": "i"},
        {"member_epoch": -3},
    ):
        beat(pair, group, version, **fields)


@pytest.mark.parametrize("expression", ["[", "(?=x)", "a{2,1}", "(?P<n", "\\1", "*"])
def test_expressions_that_are_none(pair: Pair, group: str, expression: str) -> None:
    beat(pair, group, **joining(subscribed_topic_names=None, subscribed_topic_regex=expression))


def test_an_expression_is_looked_at_after_the_member(pair: Pair, topic: str, group: str) -> None:
    """Apache Kafka tells the member's mistake, where there are two in a heartbeat."""
    pair.create_topic(topic, 1)
    bad = {"subscribed_topic_regex": "["}
    beat(pair, group, **joining(topic))
    beat(pair, group, **joining(topic) | {"member_id": "m-2", "instance_id": "i"})
    for fields in (
        {"member_epoch": 2},
        {"member_epoch": 9},
        {"member_epoch": 2, "member_id": "m-3"},
        {"member_epoch": 0, "member_id": "m-3", "instance_id": "i"},
        {"member_epoch": 0, "member_id": "m-3", "instance_id": "j"},
        {"member_epoch": 2, "member_id": "m-3", "instance_id": "i"},
        {"member_epoch": 2, "instance_id": "i"},
        {"member_epoch": 2, "instance_id": "j"},
    ):
        beat(pair, group, **joining(topic) | bad | fields)
    beat(pair, group, member_id="m-2", instance_id="i", member_epoch=-2)
    for member_id in ("m-2", "m-3"):
        names = {"member_id": member_id, "instance_id": "i"}
        beat(pair, group, **joining(topic) | bad | names)
        describe(pair, group)
        beat(pair, group, **joining(topic) | names)
        describe(pair, group)
        beat(pair, group, **names | {"member_epoch": -2})


def test_a_member_alone(pair: Pair, topic: str, group: str) -> None:
    pair.create_topic(topic, 3)
    describe(pair, group)
    beat(pair, group, **joining(topic))
    describe(pair, group)
    for fields in (
        {"member_epoch": 2},
        {"member_epoch": 3},
        {"member_epoch": 2, "member_id": "m-2"},
        {"member_epoch": 2, "instance_id": "i"},
        {"member_epoch": 2, "topic_partitions": []},
        joining(topic) | {"member_epoch": 2},
        joining(topic),
    ):
        beat(pair, group, **fields)
    owning(pair, group, topic, 0, 1, 2, member_epoch=2)
    owning(pair, group, topic, 7, member_epoch=2)
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    pair.ask(ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group]))
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    beat(pair, group, member_epoch=-1)
    beat(pair, group, member_epoch=-1)
    describe(pair, group)
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    describe(pair, group)


def test_two_members_hand_over(pair: Pair, topic: str, group: str) -> None:
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    second = {"member_id": "m-2"}
    beat(pair, group, **joining(topic) | second)
    describe(pair, group)
    beat(pair, group, member_epoch=2)
    describe(pair, group)
    beat(pair, group, **second, member_epoch=3)
    owning(pair, group, topic, 0, 1, 2, 3, member_epoch=2)
    owning(pair, group, topic, 0, 1, member_epoch=2)
    describe(pair, group)
    beat(pair, group, **second, member_epoch=3)
    describe(pair, group)
    owning(pair, group, topic, 0, 1, member_epoch=2)  # its answer was lost
    owning(pair, group, topic, 0, 1, 2, member_epoch=2)
    beat(pair, group, **second, member_epoch=-1)
    beat(pair, group, member_epoch=3)
    describe(pair, group)


@pytest.mark.parametrize("assignor", ["range", "uniform", None])
def test_members_with_other_topics(pair: Pair, topic: str, group: str, assignor: str) -> None:
    other = f"{topic}-too"
    pair.create_topic(topic, 3)
    pair.create_topic(other, 2)
    options = {"server_assignor": assignor}
    beat(pair, group, **joining(topic, other, **options))
    beat(pair, group, **joining(other, f"{topic}-missing", member_id="m-2", **options))
    describe(pair, group)
    owning(pair, group, topic, 0, 1, 2, member_epoch=2)
    beat(pair, group, member_id="m-2", member_epoch=3)
    describe(pair, group)
    beat(pair, group, member_epoch=3, subscribed_topic_names=[other])
    describe(pair, group)


def test_static_members(pair: Pair, topic: str, group: str) -> None:
    pair.create_topic(topic, 2)
    one = {"instance_id": "one"}
    beat(pair, group, **joining(topic, **one))
    beat(pair, group, **joining(topic, **one, member_id="m-2"))
    beat(pair, group, **one, member_epoch=2, member_id="m-2")
    beat(pair, group, member_epoch=2, instance_id="two")
    beat(pair, group, **one, member_epoch=-2)
    describe(pair, group)
    beat(pair, group, **one, member_epoch=2)
    beat(pair, group, **joining(topic, **one, member_id="m-2"))
    beat(pair, group, **one, member_epoch=2)
    describe(pair, group)
    beat(pair, group, **one, member_epoch=-1, member_id="m-2")
    describe(pair, group)


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_of_members(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic, 2)
    beat(pair, group, **joining(topic))

    def commit(member_id: str, epoch: int) -> Callable[[Side], OffsetCommitRequest]:
        def request(side: Side) -> OffsetCommitRequest:
            return OffsetCommitRequest(
                group_id=group,
                member_id=member_id,
                generation_id_or_member_epoch=epoch,
                topics=[
                    OffsetCommitRequestTopic(
                        name=topic,
                        topic_id=side.topic_id(topic),
                        partitions=[
                            OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
                        ],
                    )
                ],
            )

        return request

    for member_id, epoch in (("m-1", 2), ("m-1", 1), ("m-1", 3), ("m-2", 2), ("", -1), ("m-1", -1)):
        pair.ask(ApiKey.OFFSET_COMMIT, version, commit(member_id, epoch))
    for member_id, epoch in (("m-1", 2), ("m-1", 1), ("m-2", 2), (None, -1), (None, 2), ("", -1)):

        def fetch(side: Side, member_id: str | None = member_id, epoch: int = epoch) -> Any:
            wanted = OffsetFetchRequestTopics(
                name=topic, topic_id=side.topic_id(topic), partition_indexes=[0, 1]
            )
            return OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        group_id=group, member_id=member_id, member_epoch=epoch, topics=[wanted]
                    )
                ]
            )

        pair.ask(ApiKey.OFFSET_FETCH, max(version, 8), fetch)


def subscribed(*topics: str) -> bytes:
    return encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


def join(pair: Pair, group: str, topic: str, member_id: str, **fields: Any) -> Any:
    request = JoinGroupRequest(
        **{
            "group_id": group,
            "member_id": member_id,
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 30_000,
            "protocol_type": "consumer",
            "protocols": [
                JoinGroupRequestProtocol(name="cooperative-sticky", metadata=subscribed(topic))
            ],
        }
        | fields
    )
    return pair.ask(ApiKey.JOIN_GROUP, 9, request)[0]
