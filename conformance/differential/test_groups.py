"""The classic group protocol: FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import (
    PROTOCOL,
    beat,
    beat_as_consumer,
    describe,
    join,
    joining,
    kept,
    leave,
    listed,
    sync,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.sync_group import SyncGroupRequest

COORDINATOR_NOT_AVAILABLE = 15
JOIN_VERSIONS = range(10)
HEARTBEAT_VERSIONS = range(5)
GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize("version", range(7))
def test_finding_the_coordinator(pair: Pair, group: str, version: int) -> None:
    for key_type in (GROUP, TRANSACTION, SHARE, 3, -1):
        for key in (group, ""):
            request = FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key])
            if version == 0 and key_type:
                continue
            pair.ask(ApiKey.FIND_COORDINATOR, version, request, retry=COORDINATOR_NOT_AVAILABLE)
    if version >= 4:
        for keys in ([], [group, f"{group}-2", group]):
            request = FindCoordinatorRequest(coordinator_keys=keys)
            pair.ask(ApiKey.FIND_COORDINATOR, version, request, retry=COORDINATOR_NOT_AVAILABLE)


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_protocol_without_a_name(pair: Pair, group: str, version: int) -> None:
    generation = join(pair, group, version, protocols={"": b""}).generation_id
    assert generation == 1
    to = {"protocol_type": "consumer", "protocol_name": ""}
    sync(pair, group, min(version, 5), generation, to={"a": b"mine"}, **to)
    describe(pair, group)


REQUESTS_THAT_CHANGE_NOTHING: dict[str, tuple[ApiKey, int, Callable[[str], Any]]] = {
    "a member that must come again": (ApiKey.JOIN_GROUP, 9, joining),
    "a member that is not there": (ApiKey.JOIN_GROUP, 9, lambda group: joining(group, "m")),
    "no protocol": (ApiKey.JOIN_GROUP, 9, lambda group: joining(group, protocols={})),
    "a beat": (
        ApiKey.HEARTBEAT,
        4,
        lambda group: HeartbeatRequest(group_id=group, generation_id=1, member_id="m"),
    ),
    "a sync": (
        ApiKey.SYNC_GROUP,
        5,
        lambda group: SyncGroupRequest(group_id=group, generation_id=1, member_id="m"),
    ),
    "leaving": (
        ApiKey.LEAVE_GROUP,
        5,
        lambda group: LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id="m")]),
    ),
}


@pytest.mark.parametrize("case", REQUESTS_THAT_CHANGE_NOTHING)
def test_what_makes_a_group(pair: Pair, topic: str, group: str, case: str) -> None:
    """Some requests that are refused leave an empty group behind, and others none."""
    pair.create_topic(topic)
    api, version, make = REQUESTS_THAT_CHANGE_NOTHING[case]
    pair.ask(api, version, make(group))
    listed(pair, group, topic)
    describe(pair, group)


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_member_alone(pair: Pair, group: str, version: int) -> None:
    """Joins, syncs, beats, joins again, leaves."""
    sync_version, beat_version = min(version, 5), min(version, 4)
    generation = join(pair, group, version).generation_id
    beat(pair, group, beat_version, generation)
    sync(pair, group, sync_version, generation, to={"a": b"mine"}, **PROTOCOL)
    sync(pair, group, sync_version, generation, **PROTOCOL)
    beat(pair, group, beat_version, generation)
    beat(pair, group, beat_version, generation + 1)
    beat(pair, group, beat_version, generation - 1)
    beat(pair, group, beat_version, generation, member_id="somebody else")
    beat(pair, f"{group}-unknown", beat_version, generation)
    sync(pair, group, sync_version, generation + 1, **PROTOCOL)
    sync(pair, group, sync_version, generation, member_id="somebody else", **PROTOCOL)
    describe(pair, group)
    generation = join(pair, group, version).generation_id
    sync(pair, group, sync_version, generation, to={"a": b"mine again"}, **PROTOCOL)
    leave(pair, group, min(version, 5), "a")
    leave(pair, group, min(version, 5), "a")
    beat(pair, group, beat_version, generation)
    describe(pair, group)


@pytest.mark.parametrize("version", range(5, 6))
@pytest.mark.parametrize(
    ("protocol_type", "protocol_name"),
    [("other", "range"), ("consumer", "other"), (None, None), ("", "")],
)
def test_syncing_with_another_protocol(
    pair: Pair, group: str, version: int, protocol_type: str, protocol_name: str
) -> None:
    generation = join(pair, group, 9).generation_id
    protocol = {"protocol_type": protocol_type, "protocol_name": protocol_name}
    sync(pair, group, version, generation, to={"a": b"x"}, **protocol)


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_who_may_not_join(pair: Pair, group: str, version: int) -> None:
    for request in (
        joining(""),
        joining(group, session_timeout_ms=5_999),
        joining(group, session_timeout_ms=1_800_001),
        joining(group, session_timeout_ms=-1),
        joining(group, member_id="unknown"),
        joining(group, protocols={}),
        joining(group, protocol_type=""),
        joining(f"{group}-2", protocols={}, member_id="unknown"),
    ):
        pair.ask(ApiKey.JOIN_GROUP, version, request)
    join(pair, group, version)
    for options in (
        {"protocol_type": "connect"},
        {"protocols": {"sticky": b""}},
        {"protocols": {}},
        {"member_id": "unknown"},
    ):
        pair.ask(ApiKey.JOIN_GROUP, version, joining(group, **options), connection="b")


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_two_members(pair: Pair, group: str, version: int) -> None:
    """The second one's joining is told to the first by its heartbeat; both meet in the next."""
    sync_version, beat_version = min(version, 5), min(version, 4)
    first = join(pair, group, version, rebalance_timeout_ms=10_000)
    sync(pair, group, sync_version, first.generation_id, to={"a": b"all"}, **PROTOCOL)
    sides = (pair.reference, pair.tested)

    def second(side: Side) -> JoinGroupRequest:
        return joining(group, kept(side, "b"), rebalance_timeout_ms=10_000)

    if version >= 4:  # the first answer only gives it an id
        for side, answer in zip(
            sides, pair.ask(ApiKey.JOIN_GROUP, version, second, connection="b"), strict=True
        ):
            side.member_ids["b"] = answer.member_id
    for side in sides:
        side.send(ApiKey.JOIN_GROUP, version, second, "b")
        wait_until_rebalancing(side, group, first.generation_id)
    beat(pair, group, beat_version, first.generation_id)
    sync(pair, group, sync_version, first.generation_id, **PROTOCOL)
    answer = join(pair, group, version, rebalance_timeout_ms=10_000)
    joined = [side.receive(ApiKey.JOIN_GROUP, version, "b") for side in sides]
    for side, its in zip(sides, joined, strict=True):
        side.member_ids["b"] = its.member_id
    pair.compare("the second's JOIN_GROUP", *joined)
    generation = answer.generation_id
    for side in sides:
        side.send(ApiKey.SYNC_GROUP, sync_version, waiting_sync(group, generation), "b")
    sync(pair, group, sync_version, generation, to={"a": b"half", "b": b"rest"}, **PROTOCOL)
    pair.compare(
        "the second's SYNC_GROUP",
        *(side.receive(ApiKey.SYNC_GROUP, sync_version, "b") for side in sides),
    )
    for name in ("a", "b"):
        beat(pair, group, beat_version, generation, name)
    describe(pair, group)
    leave(pair, group, min(version, 5), "b")
    beat(pair, group, beat_version, generation)
    leave(pair, group, min(version, 5), "a")
    describe(pair, group)


def waiting_sync(group: str, generation: int) -> Callable[[Side], SyncGroupRequest]:
    return lambda side: SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=kept(side, "b"), **PROTOCOL
    )


def wait_until_rebalancing(side: Side, group: str, generation: int) -> None:
    rebalance_in_progress = 27
    request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=kept(side, "a"))
    deadline = time.monotonic() + 10
    while (answer := side.ask(ApiKey.HEARTBEAT, 4, request)).error_code != rebalance_in_progress:
        assert time.monotonic() < deadline, answer


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_member(pair: Pair, group: str, version: int) -> None:
    sync_version = min(version, 5)
    options = {"group_instance_id": "one"}
    generation = join(pair, group, version, **options).generation_id
    sync(pair, group, sync_version, generation, to={"a": b"mine"}, **options, **PROTOCOL)
    old = {side: kept(side, "a") for side in (pair.reference, pair.tested)}
    for side in (pair.reference, pair.tested):
        side.member_ids.clear()
    answer = join(pair, group, version, **options)
    sync(pair, group, sync_version, answer.generation_id, **options, **PROTOCOL)
    beat(pair, group, 4, answer.generation_id, **options)

    def fenced(side: Side) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=old[side], **options
        )

    pair.ask(ApiKey.HEARTBEAT, 4, fenced)

    def who(side: Side) -> dict[str, Any]:
        return {"group_id": group, "generation_id": generation, "member_id": old[side]} | options

    pair.ask(
        ApiKey.SYNC_GROUP, sync_version, lambda side: SyncGroupRequest(**who(side), **PROTOCOL)
    )
    pair.ask(ApiKey.JOIN_GROUP, version, lambda side: joining(group, old[side], **options))

    def leaving(side: Side) -> LeaveGroupRequest:
        members = [MemberIdentity(member_id=old[side], **options)]
        return LeaveGroupRequest(group_id=group, members=members)

    pair.ask(ApiKey.LEAVE_GROUP, 5, leaving)
    beat(pair, group, 4, generation, group_instance_id="two")
    describe(pair, group)
    leave(pair, group, 5, "a", group_instance_id="two")
    leave(pair, group, 5, "nobody", **options)
    leave(pair, group, 5, "nobody", **options)
    describe(pair, group)


@pytest.mark.parametrize("version", range(3, 6))
def test_leaving_in_company(pair: Pair, group: str, version: int) -> None:
    join(pair, group, 9)
    leave(pair, group, version)
    leave(pair, group, version, "nobody", "a")
    leave(pair, f"{group}-unknown", version, "a")
    leave(pair, "", version, "a")


@pytest.mark.parametrize("version", range(7))
def test_describing(pair: Pair, group: str, version: int) -> None:
    join(pair, group, 9)
    for names in ([group], [f"{group}-unknown"], [""], [], [group, group]):
        request = DescribeGroupsRequest(groups=names, include_authorized_operations=True)
        pair.ask(ApiKey.DESCRIBE_GROUPS, version, request)


@pytest.mark.parametrize("version", range(6))
def test_listing(pair: Pair, group: str, version: int) -> None:
    join(pair, group, 9)
    for request in (
        ListGroupsRequest(),
        ListGroupsRequest(states_filter=["Stable"]),
        ListGroupsRequest(states_filter=["completingRebalance"]),
        ListGroupsRequest(states_filter=["nonsense"]),
        ListGroupsRequest(types_filter=["Classic"]),
        ListGroupsRequest(types_filter=["consumer"]),
        ListGroupsRequest(types_filter=["nonsense"]),
    ):
        api = ApiKey.LIST_GROUPS
        answers = [side.ask(api, version, request) for side in pair.sides]
        for answer in answers:
            if answer is not None:
                answer.groups = [g for g in answer.groups if g.group_id == group]
        pair.compare(f"{api.name} v{version}", *answers, api=api, version=version)


@pytest.mark.parametrize("version", range(3))
def test_deleting(pair: Pair, group: str, version: int) -> None:
    join(pair, group, 9)
    for names in ([group], [f"{group}-unknown"], [""], []):
        pair.ask(ApiKey.DELETE_GROUPS, version, DeleteGroupsRequest(groups_names=names))
    leave(pair, group, 5, "a")
    for _ in range(2):
        pair.ask(ApiKey.DELETE_GROUPS, version, DeleteGroupsRequest(groups_names=[group]))


def test_an_assignor_s_notes_keep_the_group_a_classic_one(
    pair: Pair, topic: str, group: str
) -> None:
    """They would be lost."""
    pair.create_topic(topic)
    generation = join(pair, group, 9).generation_id
    noted = encode(ConsumerProtocolAssignment(user_data=b"notes"), 1)
    sync(pair, group, 5, generation, to={"a": noted}, **PROTOCOL)
    beat_as_consumer(pair, group, topic)
    describe(pair, group)
