"""JoinGroup: a first member leads the first generation, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.kafkalite.group_requests import SUBSCRIPTION, find, join


@pytest.mark.parametrize("version", range(10))
async def test_the_first_member_leads_generation_1(client: Any, version: int) -> None:
    await find(client)
    joined = await join(client, version)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)
    assert joined.leader == joined.member_id
    assert [(each.member_id, each.metadata) for each in joined.members] == [
        (joined.member_id, SUBSCRIPTION)
    ]
    assert joined.protocol_name == "range"
    if version >= 7:
        assert joined.protocol_type == "consumer"


@pytest.mark.parametrize("version", [3, 4])
async def test_a_new_member_is_given_its_id_first_since_version_4(
    client: Any, version: int
) -> None:
    await find(client)
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
    )
    answer = await client.ask(request, version)
    required = ErrorCode.MEMBER_ID_REQUIRED if version >= 4 else ErrorCode.NONE
    assert answer.error_code == required
    assert answer.member_id.startswith("test-")
