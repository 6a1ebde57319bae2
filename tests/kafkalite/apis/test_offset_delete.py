"""OffsetDelete: a committed offset goes, unless the topic is subscribed to."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.kafkalite.group_requests import commit, fetch, with_words


def deletion(group_id: str) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequestPartition(partition_index=0)
    topic = OffsetDeleteRequestTopic(name="words", partitions=[partition])
    return OffsetDeleteRequest(group_id=group_id, topics=[topic])


async def test_a_committed_offset_is_deleted(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    await commit(client, topic_id, 7)
    answer = await client.ask(deletion("group"))
    assert answer.error_code == ErrorCode.NONE
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert (await fetch(client, topic_id)).committed_offset == -1


async def test_an_unknown_group_is_an_error(clients: Any) -> None:
    client, _ = await with_words(clients)
    answer = await client.ask(deletion("none"))
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
