"""The group coordinator in messages: its hot requests are rows, which do not read well in tests."""

from typing import Any, TypeVar

import trio

from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.group_coordinator.pending_response import Parked
from kafkalite.log.errors import TakesLong
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_codec import drained
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalite.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kafkalite.wire.rows import message_of_row, row_of, rows_of

T = TypeVar("T")


def answer_of(requests: Any, context: object, request: object) -> Any:
    """The answer to a heartbeat, however large its group is."""
    row = rows_of(request)
    try:
        return requests.heartbeat(context, row, briefly=True)
    except TakesLong:
        return at_once(requests.heartbeat_in_steps(context, row))


async def response_of(parked: Parked[T]) -> T:
    """The response, once it is there."""
    if not parked.is_answered:
        answered = trio.Event()
        parked.when_answered(answered.set)
        await answered.wait()
    return parked.response_now


class CoordinatorInMessages:
    """A GroupCoordinator whose hot requests take and return messages, and may be awaited."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._coordinator: Any = GroupCoordinator(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coordinator, name)

    async def join_group(self, context: object, request: JoinGroupRequest) -> JoinGroupResponse:
        classic = self._coordinator.classic
        try:
            parked = classic.join_group(context, request, briefly=True)
        except TakesLong:
            parked = at_once(classic.join_in_steps(context, request))
        answer: JoinGroupResponse = await response_of(parked)
        return answer

    async def sync_group(self, context: object, request: SyncGroupRequest) -> SyncGroupResponse:
        row = await response_of(self._coordinator.classic.sync_group(context, rows_of(request)))
        return message_of_row(SyncGroupResponse, row)

    async def heartbeat(self, context: object, request: HeartbeatRequest) -> HeartbeatResponse:
        row = self._coordinator.classic.heartbeat(context, rows_of(request))
        return message_of_row(HeartbeatResponse, row)

    async def leave_group(self, context: object, request: LeaveGroupRequest) -> LeaveGroupResponse:
        answer: LeaveGroupResponse = self._coordinator.classic.leave_group(context, request)
        return answer

    async def offset_commit(
        self, context: object, request: OffsetCommitRequest
    ) -> OffsetCommitResponse:
        topics = self._coordinator.offset_router.commit(context, rows_of(request))
        return message_of_row(OffsetCommitResponse, (0, topics))

    async def txn_offset_commit(
        self, context: object, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse:
        row = drained(
            self._coordinator.offset_router.txn_commit(context, rows_of(request), lambda: None)
        )
        return message_of_row(TxnOffsetCommitResponse, row)

    async def offset_fetch(
        self, context: object, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        row = self._coordinator.offset_router.fetch(
            context, rows_of(request), require_stable=require_stable
        )
        return message_of_row(OffsetFetchResponseGroup, row)

    async def consumer_group_heartbeat(
        self, context: object, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        row = row_of(answer_of(self._coordinator.consumer, context, request))
        return message_of_row(ConsumerGroupHeartbeatResponse, row)
