"""Heartbeats of all modern groups go one way: kept answers, then checks, then the group's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.rows import SharedResponse, message_of_row, rows_of
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.test_steady_answers import ALL, refusal

REQUESTS = {
    "consumer": ConsumerGroupHeartbeatRequest,
    "share": ShareGroupHeartbeatRequest,
    "streams": StreamsGroupHeartbeatRequest,
}
KINDS = pytest.mark.parametrize("kind", REQUESTS)


@KINDS
@pytest.mark.parametrize(
    ("group_id", "code"), [("", ErrorCode.INVALID_REQUEST), ("nil", ErrorCode.GROUP_ID_NOT_FOUND)]
)
async def test_a_refusal_is_an_error_code(
    autojump_clock: object, world: Any, kind: str, group_id: str, code: ErrorCode
) -> None:
    await world.start()
    request: Any = REQUESTS[kind](group_id=group_id, member_id="m", member_epoch=3)
    answer = getattr(world.coordinator, kind).heartbeat(Context(1), rows_of(request))
    assert refusal(answer) == code


@ALL
async def test_a_message_that_was_made_already_is_not_made_again(
    autojump_clock: object, world: Any, begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = await begin(world)
    requests = member.requests
    message = message_of_row(requests._request, member.row)
    requests._request = None  # no other can be made
    answer = requests.heartbeat(Context(1), member.row, message)
    assert isinstance(answer, SharedResponse)
    assert requests.heartbeat(Context(1), member.row) is answer, "it is kept by its row"


@ALL
async def test_what_is_to_be_refused_gets_no_kept_answer(
    autojump_clock: object, world: Any, begin: Any
) -> None:
    """A heartbeat that would change nothing is checked all the same, the first time."""
    member = await begin(world)
    known = message_of_row(member.requests._request, member.row)
    behind = replace(known, member_epoch=known.member_epoch + 5)
    answer = member.requests.heartbeat(Context(1), rows_of(behind))
    assert not isinstance(answer, SharedResponse)
    assert refusal(answer) == ErrorCode.FENCED_MEMBER_EPOCH
    assert isinstance(member.beat(), SharedResponse)
