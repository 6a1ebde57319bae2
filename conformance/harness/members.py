"""Group members without a client: as many as one wants, each no more than its requests.

A request is sent and its answer read in two steps, so that very many can be under way at once.
"""

import time
from collections.abc import Sequence
from typing import Any, cast

from conformance.harness.raw import RawConnection
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalite.wire.schema import message_of

GROUP_KEY = 0
SECONDS = 30.0
# Version 0, no topics, no user data. It must be a subscription: Apache Kafka reads it when the
# rebalance ends, and never answers the join should that fail.
SUBSCRIPTION = b"\0\0\0\0\0\0\xff\xff\xff\xff"
# A coordinator that has just been created loads first, and says so.
NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Requests(RawConnection):
    """A connection that takes messages; answers come in the order of the requests."""

    def ask_for(self, request: object, version: int) -> None:
        """Send, and do not wait."""
        key = message_of(type(request)).key
        chunks = encode_request(key, version, 0, "member", request)
        self.send(b"".join(cast("list[bytes]", chunks)))  # no records in files are among them

    def answer(self, key: int, version: int) -> Any:
        """The answer to the oldest request that has none."""
        return decode_response(key, version, self.receive())[1]

    def call(self, request: object, version: int) -> Any:
        """Send a request and wait for its answer."""
        self.ask_for(request, version)
        return self.answer(message_of(type(request)).key, version)


class ClassicMember:
    """The one member of a classic group."""

    def __init__(self, group_id: str, connection: Requests) -> None:
        self.group_id = group_id
        self.connection = connection
        self.member_id = ""
        self.generation_id = -1

    def join_request(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )

    def sync_request(self) -> SyncGroupRequest:
        mine = SyncGroupRequestAssignment(member_id=self.member_id, assignment=self.assignment())
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[mine],
        )

    def assignment(self) -> bytes:
        """The assignment this member gives itself: bytes of no other member."""
        return self.group_id.encode()

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group_id, generation_id=self.generation_id, member_id=self.member_id
        )


def find_coordinators(connection: Requests, group_ids: Sequence[str]) -> None:
    """Ask until every group has one, and with it the topic of the offsets is there."""
    request = FindCoordinatorRequest(key_type=GROUP_KEY, coordinator_keys=list(group_ids))
    deadline = time.monotonic() + SECONDS
    while True:
        found = connection.call(request, 4).coordinators
        if all(one.error_code == ErrorCode.NONE for one in found):
            return
        assert time.monotonic() < deadline, found


def call_all(members: Sequence[ClassicMember], requests: Sequence[object], version: int) -> Any:
    """Send all requests before any answer is read; the answers, in the members' order."""
    for member, request in zip(members, requests, strict=True):
        member.connection.ask_for(request, version)
    key = message_of(type(requests[0])).key
    return [member.connection.answer(key, version) for member in members]


def join_all(members: Sequence[ClassicMember]) -> None:
    """All at once: ask for an id, join with it, bring the assignment and get it back."""
    waiting = list(members)
    deadline = time.monotonic() + SECONDS
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} have not joined"
        answers = call_all(waiting, [member.join_request() for member in waiting], 9)
        left: list[ClassicMember] = []
        for member, joined in zip(waiting, answers, strict=True):
            if joined.error_code == ErrorCode.NONE:
                assert joined.leader == joined.member_id == member.member_id
                member.generation_id = joined.generation_id
                continue
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                assert not member.member_id
                member.member_id = joined.member_id
            else:
                assert joined.error_code in NOT_YET, joined
            left.append(member)
        waiting = left
    synced = call_all(members, [member.sync_request() for member in members], 5)
    for member, answer in zip(members, synced, strict=True):
        assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, member.assignment())
