"""ListGroups: filters by state since version 4, by type since version 5."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.messages.list_groups import ListGroupsRequest
from tests.kafkalite.group_requests import find, join


async def listed(client: Any, version: int = 5, **filters: Any) -> list[str]:
    answer = await client.ask(ListGroupsRequest(**filters), version)
    assert answer.error_code == 0
    return [group.group_id for group in answer.groups]


@pytest.mark.parametrize("version", range(6))
async def test_a_group_is_listed_in_every_version(client: Any, version: int) -> None:
    await find(client)
    assert await listed(client, version) == []
    await join(client)
    assert await listed(client, version) == ["group"]


async def test_filters_ignore_case(client: Any) -> None:
    await find(client)
    await join(client)
    answer = await client.ask(ListGroupsRequest(states_filter=["completingrebalance"]))
    assert [(each.group_id, each.group_type) for each in answer.groups] == [("group", "classic")]
    assert await listed(client, types_filter=["CLASSIC"]) == ["group"]
    assert await listed(client, types_filter=["consumer"]) == []
    assert await listed(client, states_filter=["Stable"]) == []
