"""Groups with members of both protocols, the consumer protocol and the classic one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.group_requests import SUBSCRIBED, listed, offset_commit
from conformance.differential.test_consumer_groups import (
    beat,
    describe,
    join,
    joining,
    owning,
    subscribed,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkalite.wire.messages.sync_group import SyncGroupRequest


def test_a_classic_member_in_a_consumer_group(pair: Pair, topic: str, group: str) -> None:
    """Joining with an id of one's own is accepted there."""
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    join(pair, group, topic, "")
    join(pair, group, topic, "c-1", protocol_type="connect")
    other = JoinGroupRequestProtocol(name="range", metadata=SUBSCRIBED)
    joined = join(pair, group, topic, "c-1")
    join(pair, group, topic, "c-2", protocols=[other])
    epoch = joined.generation_id
    who = {"group_id": group, "member_id": "c-1"}
    for generation_id in (epoch, epoch + 1, epoch - 1):
        pair.ask(ApiKey.SYNC_GROUP, 5, SyncGroupRequest(**who, generation_id=generation_id))
        pair.ask(ApiKey.HEARTBEAT, 4, HeartbeatRequest(**who, generation_id=generation_id))
    stranger = HeartbeatRequest(group_id=group, member_id="m-1", generation_id=epoch)
    pair.ask(ApiKey.HEARTBEAT, 4, stranger)
    owning(pair, group, topic, 0, 1, member_epoch=2)
    pair.ask(ApiKey.HEARTBEAT, 4, HeartbeatRequest(**who, generation_id=epoch))
    again = join(pair, group, topic, "c-1")
    pair.ask(
        ApiKey.SYNC_GROUP,
        5,
        SyncGroupRequest(
            **who,
            generation_id=again.generation_id,
            protocol_type="consumer",
            protocol_name="cooperative-sticky",
        ),
    )
    describe(pair, group)
    leaving = [MemberIdentity(member_id="c-1"), MemberIdentity(member_id="m-1")]
    pair.ask(ApiKey.LEAVE_GROUP, 5, LeaveGroupRequest(group_id=group, members=leaving))
    describe(pair, group)


def test_a_subscription_is_read_when_the_member_is_known(
    pair: Pair, topic: str, group: str
) -> None:
    pair.create_topic(topic)
    beat(pair, group, **joining(topic))
    malformed = {"protocols": [JoinGroupRequestProtocol(name="range", metadata=b"x")]}
    for member_id, instance_id in itertools.product(("", "nobody"), (None, "i")):
        join(pair, group, topic, member_id, group_instance_id=instance_id, **malformed)
    describe(pair, group)


def test_a_classic_member_learns_late_that_another_has_left(
    pair: Pair, topic: str, group: str
) -> None:
    """The next target is worked out when a consumer is heard, or somebody joins."""
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    epochs = [join(pair, group, topic, name).generation_id for name in ("c-1", "c-2")]
    leaving = [MemberIdentity(member_id="c-1")]
    pair.ask(ApiKey.LEAVE_GROUP, 5, LeaveGroupRequest(group_id=group, members=leaving))
    who = {"group_id": group, "member_id": "c-2", "generation_id": epochs[1]}
    for _ in range(2):
        pair.ask(ApiKey.HEARTBEAT, 4, HeartbeatRequest(**who))
        pair.ask(ApiKey.SYNC_GROUP, 5, SyncGroupRequest(**who))
        describe(pair, group)
        owning(pair, group, topic, 0, 1, member_epoch=2)


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": "connect"},
        {"protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\1\2\3")]},
    ],
    ids=["of Connect", "malformed"],
)
def test_a_classic_group_that_stays_one(
    pair: Pair, topic: str, group: str, fields: dict[str, Any]
) -> None:
    pair.create_topic(topic)
    join(pair, group, topic, "", group_instance_id="i", **fields)
    for epoch in (0, 1, -1):
        beat(pair, group, **joining(topic, member_epoch=epoch))
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))


def test_the_last_consumer_leaves_a_classic_group_behind(
    pair: Pair, topic: str, group: str
) -> None:
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    join(pair, group, topic, "c-1")
    beat(pair, group, member_epoch=-1)
    describe(pair, group)
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    listing = ListGroupsRequest(types_filter=["classic"], states_filter=["PreparingRebalance"])
    answers = [side.ask(ApiKey.LIST_GROUPS, 5, listing) for side in (pair.reference, pair.tested)]
    pair.compare("ListGroups", *[[g for g in a.groups if g.group_id == group] for a in answers])


def test_a_classic_member_leaves_others_of_its_kind(pair: Pair, topic: str, group: str) -> None:
    """The last consumer has joined again as a classic member; who leaves then is one, too."""
    pair.create_topic(topic, 4)
    beat(pair, group, **joining(topic))
    join(pair, group, topic, "c-1")
    join(pair, group, topic, "m-1")
    describe(pair, group)
    leaving = [MemberIdentity(member_id="c-1")]
    pair.ask(ApiKey.LEAVE_GROUP, 5, LeaveGroupRequest(group_id=group, members=leaving))
    describe(pair, group)
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    beat(pair, group, member_id="c-1", member_epoch=-1)


def test_no_upgrade_while_a_member_without_the_groups_protocol_joins(
    pair: Pair, topic: str, group: str
) -> None:
    """The one that waits is told to join again; the consumer that asked gets an error."""
    pair.create_topic(topic, 4)
    one, two = (
        JoinGroupRequestProtocol(name=name, metadata=subscribed(topic))
        for name in ("range", "roundrobin")
    )
    join(pair, group, topic, "", group_instance_id="f", protocols=[one, two])
    waiting = JoinGroupRequest(
        group_id=group,
        group_instance_id="w",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[two],
    )
    for side in pair.sides:
        side.send(ApiKey.JOIN_GROUP, 9, waiting, "waiting")
        side.until(
            ApiKey.DESCRIBE_GROUPS,
            5,
            DescribeGroupsRequest(groups=[group]),
            lambda answer: answer.groups[0].group_state == "PreparingRebalance",
        )
    beat(pair, group, **joining(topic))
    answers = [side.receive(ApiKey.JOIN_GROUP, 9, "waiting") for side in pair.sides]
    pair.compare("JOIN_GROUP v9", *answers)
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    describe(pair, group)


def test_a_member_that_joins_an_empty_group_by_its_id_ends_it(
    pair: Pair, topic: str, group: str
) -> None:
    """No record says so. The offsets stay, and show again once there is a group."""
    pair.create_topic(topic, 4)
    fetching = OffsetFetchRequestGroup(group_id=group, member_id="", topics=None)

    def fetch() -> None:
        pair.ask(ApiKey.OFFSET_FETCH, 9, OffsetFetchRequest(groups=[fetching], require_stable=True))

    beat(pair, group, **joining(topic))
    beat(pair, group, member_epoch=-1)
    pair.ask(ApiKey.OFFSET_COMMIT, 8, offset_commit(group, topic))
    listed(pair, group, topic)
    fetch()
    join(pair, group, topic, "c-1")
    fetch()
    listed(pair, group, topic)
    fetch()
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    join(pair, group, topic, "")
    listed(pair, group, topic)
    fetch()
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
