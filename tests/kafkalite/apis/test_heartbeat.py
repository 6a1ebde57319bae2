"""Heartbeat: a member is known by its id and generation, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.context import RequestContext
from kafkalite.wire.api_keys import ApiKey
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


async def test_a_connection_remembers_members_that_there_are(clients: Any) -> None:
    """A client that makes names up leaves nothing behind."""
    client = await clients.connect(client_id="reader")
    await find(client)
    joined = await join(client)
    await sync(client, joined)
    for number in range(20):
        await heartbeat(client, joined, 4, member_id=f"made-up-{number}")
        joined.member_id, known = f"made-up-{number}", joined.member_id
        await sync(client, joined)
        joined.member_id = known
    assert await heartbeat(client, joined, 4) == ErrorCode.NONE
    (connection,) = clients.broker._running.connections
    assert connection.context.members == {("group", joined.member_id)}


def test_members_of_one_connection_are_forgotten_in_the_end() -> None:
    nothing: Any = None
    context = RequestContext(1, ApiKey.HEARTBEAT, 4, "c", "h", "PLAINTEXT", 0.0, nothing)
    for number in range(5_000):
        context.heard_of("g", f"member-{number}")
    assert 0 < len(context.members) <= 1_000
