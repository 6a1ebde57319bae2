"""Heartbeat: a member is known by its id and generation, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.group_requests import find, heartbeat, join, sync


@pytest.mark.parametrize("version", range(5))
async def test_a_heartbeat_names_member_and_generation(client: Any, version: int) -> None:
    await find(client)
    joined = await join(client)
    await sync(client, joined)
    assert await heartbeat(client, joined, version) == ErrorCode.NONE
    stale = await heartbeat(client, joined, version, generation_id=7)
    assert stale == ErrorCode.ILLEGAL_GENERATION
    unknown = await heartbeat(client, joined, version, member_id="other")
    assert unknown == ErrorCode.UNKNOWN_MEMBER_ID
