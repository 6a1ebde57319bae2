"""After the first Fetch only what changed is named."""

from __future__ import annotations

from uuid import UUID

from kafkalite.replication.fetch_session import FetchSessionHandler, Key
from kafkalite.wire.messages.fetch import FetchPartition

A, B = UUID(int=1), UUID(int=2)


def wanted(**offsets: int) -> dict[Key, FetchPartition]:
    topics = {"a": A, "b": B}
    return {
        (topics[name], 0): FetchPartition(partition=0, fetch_offset=offset)
        for name, offset in offsets.items()
    }


def ask(session: FetchSessionHandler, **offsets: int) -> tuple[set[UUID], set[UUID]]:
    named, forgotten = session.ask(wanted(**offsets))
    return {each.topic_id for each in named}, {each.topic_id for each in forgotten}


def test_a_session_from_its_begin_to_its_end() -> None:
    session = FetchSessionHandler()
    assert (session.session_id, session.epoch) == (0, 0)
    assert ask(session, a=1, b=1) == ({A, B}, set())
    session.answered(77)
    assert (session.session_id, session.epoch) == (77, 1)
    assert ask(session, a=1, b=2) == ({B}, set())
    session.answered(77)
    assert ask(session, b=2) == (set(), {A})
    session.answered(77)
    assert ask(session, a=1, b=2) == ({A}, set())
    session.reset()
    assert (session.session_id, session.epoch) == (0, 0)
    assert ask(session, a=1, b=2) == ({A, B}, set())


def test_a_leader_without_sessions_is_told_everything_each_time() -> None:
    session = FetchSessionHandler()
    for _ in range(3):
        assert ask(session, a=1) == ({A}, set())
        session.answered(0)


def test_the_epoch_goes_round() -> None:
    session = FetchSessionHandler()
    session.epoch = 0x7FFFFFFF
    session.answered(1)
    assert session.epoch == 1
