"""Requests of groups, sent to both sides; of the classic protocol by members with a name of ours.

Brokers make up the ids of members. A side keeps those that it gave out, by our name of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

MEMBER_ID_REQUIRED = 79
OFFSETS_PARTITIONS = 4
PROTOCOL = {"protocol_type": "consumer", "protocol_name": "range"}
# Version 0, no topics, with and without user data. Garbage would do for the answers, but Apache
# Kafka reads it in a timer of its own, fails there, and never answers.
SUBSCRIBED = bytes.fromhex("0000 00000000 ffffffff")
SUBSCRIBED_TOO = bytes.fromhex("0000 00000000 00000001 2a")


def joining(group: str, member_id: str = "", **options: Any) -> JoinGroupRequest:
    protocols = options.pop("protocols", {"range": SUBSCRIBED, "roundrobin": SUBSCRIBED_TOO})
    return JoinGroupRequest(
        **{
            "group_id": group,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 30_000,
            "protocol_type": "consumer",
            **options,
        },
        member_id=member_id,
        protocols=[JoinGroupRequestProtocol(name=n, metadata=m) for n, m in protocols.items()],
    )


def kept(side: Side, name: str) -> str:
    return side.member_ids.get(name, "")


def join(pair: Pair, group: str, version: int, name: str = "a", **options: Any) -> Any:
    """Join under a name of ours; the generated id is kept for the requests after it."""

    def request(side: Side) -> JoinGroupRequest:
        return joining(group, kept(side, name), **options)

    answers = pair.ask(ApiKey.JOIN_GROUP, version, request, connection=name)
    for side, answer in zip((pair.reference, pair.tested), answers, strict=True):
        if answer is not None and answer.member_id:
            side.member_ids[name] = answer.member_id
    if answers[0] is not None and answers[0].error_code == MEMBER_ID_REQUIRED:
        return join(pair, group, version, name, **options)
    return answers[0]


def sync(
    pair: Pair, group: str, version: int, generation: int, name: str = "a", **more: Any
) -> None:
    to = more.pop("to", None)

    def request(side: Side) -> SyncGroupRequest:
        assignments = [
            SyncGroupRequestAssignment(member_id=kept(side, n), assignment=data)
            for n, data in (to or {}).items()
        ]
        return SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=more.get("member_id", kept(side, name)),
            assignments=assignments,
            protocol_type=more.get("protocol_type"),
            protocol_name=more.get("protocol_name"),
            group_instance_id=more.get("group_instance_id"),
        )

    pair.ask(ApiKey.SYNC_GROUP, version, request, connection=name)


def beat(
    pair: Pair, group: str, version: int, generation: int, name: str = "a", **more: Any
) -> None:
    def request(side: Side) -> HeartbeatRequest:
        member_id = more.get("member_id", kept(side, name))
        return HeartbeatRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=more.get("group_instance_id"),
        )

    pair.ask(ApiKey.HEARTBEAT, version, request, connection=name)


def leave(pair: Pair, group: str, version: int, *names: str, **more: Any) -> None:
    def request(side: Side) -> LeaveGroupRequest:
        members = [
            MemberIdentity(member_id=kept(side, n), group_instance_id=more.get("group_instance_id"))
            for n in names
        ]
        return LeaveGroupRequest(
            group_id=group, member_id=kept(side, names[0]) if names else "", members=members
        )

    pair.ask(ApiKey.LEAVE_GROUP, version, request)


def describe(pair: Pair, group: str) -> None:
    pair.ask(ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group]))


def offset_commit(group: str, topic: str) -> OffsetCommitRequest:
    """A commit without a member, in the form of version 8."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return OffsetCommitRequest(group_id=group, topics=topics)


def listed(pair: Pair, group: str, topic: str) -> None:
    """Both list the group alike, or both do not.

    Apache Kafka shows what a request that wrote nothing has made only from its partition's next
    write on. So one is made first: the names' hashes follow one another, and each partition gets
    its commit.
    """
    for number in range(OFFSETS_PARTITIONS):
        pair.ask(ApiKey.OFFSET_COMMIT, 8, offset_commit(f"{group}-{number}", topic))
    found = [
        [
            each
            for each in side.ask(ApiKey.LIST_GROUPS, 5, ListGroupsRequest()).groups
            if each.group_id == group
        ]
        for side in pair.sides
    ]
    pair.compare("LIST_GROUPS v5", *found)


def beat_as_consumer(pair: Pair, group: str, topic: str) -> None:
    """Join with the consumer protocol."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="c",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    pair.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)


def ask_in_other_protocols(pair: Pair, group: str, topic: str) -> None:
    """The requests of classic and of consumer members, to a group of neither."""
    join = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    pair.ask(ApiKey.JOIN_GROUP, 9, join)
    pair.ask(ApiKey.SYNC_GROUP, 5, SyncGroupRequest(group_id=group, member_id="m-1"))
    pair.ask(ApiKey.HEARTBEAT, 4, HeartbeatRequest(group_id=group, member_id="m-1"))
    leave = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id="m-1")])
    pair.ask(ApiKey.LEAVE_GROUP, 5, leave)
    beat_as_consumer(pair, group, topic)


def compare_descriptions(
    pair: Pair,
    api: ApiKey,
    version: int,
    request: Callable[..., Any],
    groups: tuple[str, ...],
) -> None:
    """Descriptions of groups by a class of requests."""
    for operations in (False, True):
        pair.ask(
            api,
            version,
            request(group_ids=list(groups), include_authorized_operations=operations),
        )
