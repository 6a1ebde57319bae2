"""SyncGroup: the leader's assignment comes back, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.group_requests import find, join, sync


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
