"""SyncGroup: the leader's assignment comes back, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import AT_ONCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.kafkalite.group_requests import find, join, sync, sync_request
from tests.kafkalite.longest_turn import longest_turn
from tests.kafkalite.server.test_huge_requests import MOST_SECONDS


@pytest.mark.parametrize("version", range(6))
async def test_the_leader_gets_the_assignment_it_hands_in(client: Any, version: int) -> None:
    await find(client)
    synced = await sync(client, await join(client), version)
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"mine")
    if version >= 5:
        assert (synced.protocol_type, synced.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
async def test_version_5_names_type_and_protocol(client: Any, missing: str) -> None:
    await find(client)
    joined = await join(client)
    refused = await sync(client, joined, 5, **{missing: None})
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await sync(client, joined, 4, **{missing: None})).error_code == ErrorCode.NONE


def frame_of_many(client: Any, joined: Any) -> bytes:
    """A SyncGroup with assignments for 500,000 that are no members. The messages are gone when the
    loop is watched: the collector would go through them."""
    request = sync_request(joined)
    for number in range(500_000):
        request.assignments.append(
            SyncGroupRequestAssignment(member_id=f"nobody {number}", assignment=b"nothing")
        )
    frame: bytes = client.framed(request)
    return frame


@pytest.mark.slow
async def test_very_many_assignments_do_not_hold_the_loop(client: Any) -> None:
    await find(client)
    frame = frame_of_many(client, await join(client))
    with longest_turn() as longest:
        await client.stream.send_all(frame)
        synced = await client.answer()
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"mine")
    assert longest.seconds < MOST_SECONDS


@pytest.mark.parametrize("more", [0, 1])
async def test_of_many_assignments_each_member_gets_its_own(client: Any, more: int) -> None:
    await find(client)
    joined = await join(client)
    nobody = SyncGroupRequestAssignment(member_id="nobody", assignment=b"nothing")
    request = sync_request(joined)
    request.assignments += [nobody] * (AT_ONCE - 1 + more)
    assert (await client.ask(request)).assignment == b"mine"
    request.generation_id += 1
    assert (await client.ask(request)).error_code == ErrorCode.ILLEGAL_GENERATION
    request.group_id = "another"
    assert (await client.ask(request)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
