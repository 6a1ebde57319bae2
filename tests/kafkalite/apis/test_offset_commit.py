"""OffsetCommit: members and administrators commit, by name and by topic id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.group_requests import (
    commit,
    commit_request,
    fetch,
    find,
    join,
    sync,
    with_words,
)


@pytest.mark.parametrize("version", range(2, 11))
async def test_a_member_commits_in_every_version(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    joined = await join(client)
    await sync(client, joined)
    identity = {"member_id": joined.member_id, "generation_id_or_member_epoch": 1}
    assert await commit(client, topic_id, 7, version, **identity) == ErrorCode.NONE
    assert (await fetch(client, topic_id)).committed_offset == 7
    identity["generation_id_or_member_epoch"] = 2
    stale = await commit(client, topic_id, 8, version, **identity)
    assert stale == ErrorCode.ILLEGAL_GENERATION
    assert (await fetch(client, topic_id)).committed_offset == 7


async def test_an_unknown_topic_id_is_an_error(client: Any) -> None:
    await find(client)
    committed = await client.ask(commit_request("", UUID(int=7), 7))
    (partition,) = committed.topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_topic_without_partitions_is_not_in_the_answer(clients: Any) -> None:
    client, _ = await with_words(clients)
    request = commit_request("words", UUID(int=0), 7)
    request.topics[0].partitions = []
    assert (await client.ask(request, 9)).topics == []
