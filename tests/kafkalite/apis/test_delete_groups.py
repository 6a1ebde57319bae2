"""DeleteGroups: an empty group goes, with its offsets."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from tests.kafkalite.group_requests import commit, fetch, join, leave, with_words


async def deleted(client: Any, *names: str, version: int = 2) -> dict[str, int]:
    answer = await client.ask(DeleteGroupsRequest(groups_names=list(names)), version)
    return {result.group_id: result.error_code for result in answer.results}


async def test_a_group_that_is_named_twice_is_deleted_once(client: Any) -> None:
    asked = DeleteGroupsRequest(groups_names=["none", "other", "none"])
    answer = await client.ask(asked, 2)
    assert [result.group_id for result in answer.results] == ["none", "other"]


@pytest.mark.parametrize("version", range(3))
async def test_only_an_empty_group_is_deleted(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    joined = await join(client)
    told = await deleted(client, "group", "none", version=version)
    assert told == {"group": ErrorCode.NON_EMPTY_GROUP, "none": ErrorCode.GROUP_ID_NOT_FOUND}
    await leave(client, joined.member_id)
    await commit(client, topic_id, 7)
    assert await deleted(client, "group", version=version) == {"group": ErrorCode.NONE}
    assert (await fetch(client, topic_id)).committed_offset == -1
