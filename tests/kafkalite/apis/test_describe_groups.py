"""DescribeGroups: state, members and operations of classic groups."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from tests.kafkalite.authorized_operations import GROUP_OPERATIONS, NO_OPERATIONS
from tests.kafkalite.group_requests import find, join, sync


async def described(client: Any, name: str, version: int = 6, **options: bool) -> Any:
    answer = await client.ask(DescribeGroupsRequest(groups=[name], **options), version)
    (group,) = answer.groups
    return group


@pytest.mark.parametrize("version", range(7))
async def test_state_and_members_are_described(clients: Any, version: int) -> None:
    client = await clients.connect(client_id="reader")
    await find(client)
    joined = await join(client)
    group = await described(client, "group", version)
    assert (group.error_code, group.group_state) == (0, "CompletingRebalance")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "")
    await sync(client, joined)
    group = await described(client, "group", version)
    assert (group.group_state, group.protocol_data) == ("Stable", "range")
    (member,) = group.members
    assert (member.client_id, member.client_host) == ("reader", "/127.0.0.1")
    assert (member.member_id, member.member_assignment) == (joined.member_id, b"mine")


async def test_operations_are_told_on_request(client: Any) -> None:
    await find(client)
    await join(client)
    group = await described(client, "group", include_authorized_operations=True)
    assert group.authorized_operations == GROUP_OPERATIONS
    assert (await described(client, "group")).authorized_operations == NO_OPERATIONS


async def test_an_unknown_group_is_dead_and_since_version_6_an_error(client: Any) -> None:
    await find(client)
    for version, code in ((5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)):
        group = await described(client, "none", version)
        assert (group.error_code, group.group_state) == (code, "Dead")
