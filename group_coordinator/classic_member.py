"""A member of a classic group: who it is, what it supports, what it waits for."""

from collections.abc import Callable, Container, Sequence

from msgspec import Struct

from kafkalite.group_coordinator.timers import Timer, Timers
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from kafkalite.wire.messages.sync_group import SyncGroupResponseRow

AnswerJoin = Callable[[JoinGroupResponse], None]
AnswerSync = Callable[[SyncGroupResponseRow], None]


class ClassicMember(Struct, kw_only=True, eq=False):
    """One member. `answer_join` and `answer_sync` are there while it is parked in that request.

    `session` expires when the member has not been heard of for its session timeout.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Sequence[JoinGroupRequestProtocol]
    session: Timer
    assignment: bytes = b""
    is_new: bool = False
    answer_join: AnswerJoin | None = None
    answer_sync: AnswerSync | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def metadata(self, protocol_name: str | None) -> bytes:
        """The metadata of one of its protocols (for consumers, its subscription)."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return bytes(protocol.metadata)
        return b""

    def vote(self, candidates: Container[str]) -> str:
        """The first of its protocols that is a candidate: the order is the member's preference."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)

    def may_expire(self) -> bool:
        """True if silence counts against it. A parked member cannot be expected to heartbeat,
        yet a new member may be parked because it is gone (Kafka mutes its connection)."""
        return self.is_new or (self.answer_join is None and self.answer_sync is None)

    def put_off(self, sessions: Timers) -> None:
        """The member was heard of: its session begins anew."""
        sessions.set(self.session, self.session_timeout_ms / 1000)


def sync_refused(error_code: ErrorCode) -> SyncGroupResponseRow:
    """The answer to a SyncGroup that gets no assignment."""
    return 0, error_code, None, None, b""
