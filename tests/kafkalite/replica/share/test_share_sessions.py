"""Share sessions: epochs that count up, partitions that take turns, one per member and node."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.replica.share.share_sessions import (
    FINAL_EPOCH,
    SessionKey,
    SessionPartition,
    ShareSession,
    ShareSessions,
    TopicPartitionId,
)
from kafkalite.wire.errors import ErrorCode, KafkaError

A = SessionKey("g", "a")
B = SessionKey("g", "b")
P, Q, R = (TopicPartitionId(UUID(int=1), index) for index in range(3))


def begun(sessions: ShareSessions, key: SessionKey = A, connection: object = "one") -> ShareSession:
    partitions = {where: SessionPartition("t", must_answer=False) for where in (P, Q)}
    return sessions.begin(key, connection, partitions)


def code(sessions: ShareSessions, key: SessionKey, epoch: int) -> ErrorCode | None:
    try:
        sessions.existing(key, epoch)
    except KafkaError as error:
        return error.code
    return None


def test_a_member_goes_on_with_the_next_epoch() -> None:
    sessions = ShareSessions(10)
    session = begun(sessions)
    assert code(sessions, A, 1) is None
    session.advance()
    assert code(sessions, A, 2) is None
    assert code(sessions, A, 1) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert code(sessions, A, 3) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert code(sessions, A, FINAL_EPOCH) is None
    assert code(sessions, B, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_after_the_last_epoch_comes_the_first() -> None:
    session = ShareSession(A, "one", epoch=2**31 - 1)
    session.advance()
    assert session.epoch == 1


def test_there_are_so_many_sessions_and_no_more() -> None:
    sessions = ShareSessions(1)
    begun(sessions)
    with pytest.raises(KafkaError) as refused:
        begun(sessions, B, "two")
    assert refused.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    # A session that begins anew takes its own place.
    again = begun(sessions)
    assert (len(sessions), sessions.get(A)) == (1, again)
    sessions.remove(A)
    assert not sessions.has_group("g")
    begun(sessions, B, "two")
    assert sessions.has_group("g")


def test_partitions_are_added_once_and_forgotten() -> None:
    session = begun(ShareSessions(10))
    for where in (Q, R):
        session.add(where, "t")
    session.forget(P)
    session.forget(P)
    assert list(session.partitions) == [Q, R]


def test_a_partition_is_told_when_there_is_something_to_say() -> None:
    session = begun(ShareSessions(10))

    def tells(where: TopicPartitionId, *, records: bool = False, error: bool = False) -> bool:
        return session.must_tell(where, has_records=records, has_error=error)

    assert not tells(P)
    assert tells(P, records=True)
    assert tells(P, error=True)
    # An error is taken back by naming the partition once more.
    assert tells(P)
    assert not tells(P)
    # A partition that was added is answered once, whatever there is.
    session.add(R, "t")
    assert tells(R)
    assert not tells(R)
    # A partition that is not in the session was asked for by itself.
    session.forget(R)
    assert tells(R)


def test_those_that_had_records_go_to_the_end() -> None:
    session = begun(ShareSessions(10))
    session.must_tell(P, has_records=True, has_error=False)
    assert list(session.partitions) == [Q, P]
    session.must_tell(Q, has_records=False, has_error=True)
    assert list(session.partitions) == [Q, P]


def test_a_connection_belongs_to_the_session_that_began_on_it_last() -> None:
    sessions = ShareSessions(10)
    begun(sessions, A, "one")
    begun(sessions, B, "one")
    assert sessions.knows("one")
    assert not sessions.knows("two")
    assert sessions.connection_closed("one") == B
    assert sessions.connection_closed("one") is None
