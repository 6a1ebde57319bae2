"""LeaveGroup: one member before version 3, several since."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.kafkalite.group_requests import find, join, leave


@pytest.mark.parametrize("version", range(6))
async def test_a_member_leaves_once(client: Any, version: int) -> None:
    await find(client)
    joined = await join(client)
    assert not any(await leave(client, joined.member_id, version))
    again = await leave(client, joined.member_id, version)
    assert again[-1] == ErrorCode.UNKNOWN_MEMBER_ID


async def test_an_instance_id_removes_a_static_member(client: Any) -> None:
    await find(client)
    await join(client, instance_id="one")
    wanted = [MemberIdentity(group_instance_id=name) for name in ("one", "two")]
    answer = await client.ask(LeaveGroupRequest(group_id="group", members=wanted))
    assert answer.error_code == ErrorCode.NONE
    assert [(each.group_instance_id, each.error_code) for each in answer.members] == [
        ("one", ErrorCode.NONE),
        ("two", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
