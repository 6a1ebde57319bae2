"""OffsetFetch: committed offsets, for one group before version 8, for several since."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkalite.apis import offset_fetch as offset_fetch_api
from kafkalite.apis.offset_fetch import _response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.freed_in_steps import most_freed
from tests.kafkalite.group_requests import commit, fetch, find, with_words


@pytest.mark.parametrize("version", range(1, 11))
async def test_a_committed_offset_is_fetched_in_every_version(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    assert (await fetch(client, topic_id, version)).committed_offset == -1
    assert await commit(client, topic_id, 7) == ErrorCode.NONE
    found = await fetch(client, topic_id, version)
    assert (found.error_code, found.committed_offset) == (ErrorCode.NONE, 7)


async def test_an_unknown_topic_id_is_an_error(client: Any) -> None:
    await find(client)
    fetched = await fetch(client, UUID(int=7))
    assert (fetched.error_code, fetched.committed_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)


async def test_null_topics_mean_all_of_each_group(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    await commit(client, topic_id, 7)
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("group", "none")]
    answer = await client.ask(OffsetFetchRequest(groups=groups), 9)
    assert [(each.group_id, [topic.name for topic in each.topics]) for each in answer.groups] == [
        ("group", ["words"]),
        ("none", []),
    ]


async def test_large_topics_are_answered_whole_and_in_their_order(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    await commit(client, topic_id, 7)
    large = [*range(1, 2500), 0]
    asked = [(topic_id, [0]), (topic_id, large), (UUID(int=7), [5, 6]), (topic_id, [])]
    topics = [OffsetFetchRequestTopics(topic_id=id_, partition_indexes=p) for id_, p in asked]
    groups = [OffsetFetchRequestGroup(group_id="group", topics=topics)]
    answer = await client.ask(OffsetFetchRequest(groups=groups), 10)
    answered = [
        (topic.topic_id, [each.partition_index for each in topic.partitions])
        for topic in answer.groups[0].topics
    ]
    assert answered == [asked[0], asked[1], asked[3], asked[2]]
    first, second, _, unknown = answer.groups[0].topics
    assert first.partitions[0].committed_offset == second.partitions[-1].committed_offset == 7
    assert {each.committed_offset for each in second.partitions[:-1]} == {-1}
    assert {each.error_code for each in unknown.partitions} == {ErrorCode.UNKNOWN_TOPIC_ID}


async def test_groups_with_long_ids_give_others_their_turn(
    clients: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find a group's coordinator takes as long as its id, which may have 32 KB."""
    client, _ = await with_words(clients)
    cut = 0
    large_response = offset_fetch_api.large_response

    def counted(*about: Any) -> Any:
        nonlocal cut
        cut += 1
        return large_response(*about)

    monkeypatch.setattr(offset_fetch_api, "large_response", counted)
    for length in (10, 32_000):
        names = [f"{number}{'x' * length}" for number in range(5)]
        groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
        answer = await client.ask(OffsetFetchRequest(groups=groups), 9)
        assert [each.group_id for each in answer.groups] == names
    assert cut == 1


async def test_offsets_go_with_their_topic(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    await commit(client, topic_id, 7)
    clients.broker.delete_topic("words")
    clients.broker.create_topic("words", partitions=1)
    assert (await fetch(client, topic_id, 9)).committed_offset == -1


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (1, ErrorCode.NOT_COORDINATOR),
        (7, ErrorCode.NOT_COORDINATOR),
        (10, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_what_very_many_topics_leave_is_freed_little_by_little(version: int, code: int) -> None:
    """A group that is not here is noticed after its topics were looked at."""
    router = SimpleNamespace(fetch=lambda *_, **__: ("g", [], code))
    services: Any = SimpleNamespace(
        group_coordinator=SimpleNamespace(offset_router=router),
        topics=SimpleNamespace(by_id=lambda topic_id: None),
    )
    context: Any = SimpleNamespace(api_version=version)
    if version < 8:
        topics = [(f"new-{number}", [0]) for number in range(4000)]
        request: Any = ("g", topics, [], False)
    else:
        wanted = [("", UUID(int=number), [0]) for number in range(4000)]
        request = ("", None, [("g", None, -1, wanted)], False)
    assert most_freed(_response(services, context, request)) < 2500
