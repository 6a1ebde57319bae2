"""A session that ends releases what its member had, and not what it acquires in its next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.ended_sessions import EndedSessions
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.replica.share.share_partition import SharePartition
from kafkalite.replica.share.share_sessions import SessionKey, SessionPartition, ShareSession
from kafkalite.requests.slices import Steps, at_once
from tests.kafkalite.one_share_group import (
    GROUP,
    MEMBER,
    NODE,
    OneShareGroup,
    one_share_group,
    read,
)

MANY = 100
OTHER = SessionKey(GROUP, "other")


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group() as made:
        made.append(b"a", b"b", b"c")
        yield made


@pytest.fixture
def large() -> Iterator[OneShareGroup]:
    """The group has more partitions than are released in one turn, with a record each."""
    with one_share_group(MANY) as made:
        for index in range(MANY):
            made.append(b"a", index=index)
        yield made


def opened(group: OneShareGroup, index: int = 0) -> SharePartition:
    return group.partitions.open(group.key(index), group.partition(index))


def fetch(group: OneShareGroup, key: SessionKey = MEMBER) -> list[int]:
    """The offsets that a member acquires of the first partition."""
    reader = group.reader([group.where()], Wanted(key.member_id, 500, 500))
    acquired = [each for fetched in read(reader).values() for each in fetched.acquired]
    return [n for each in acquired for n in range(each.first_offset, each.last_offset + 1)]


def fetch_all(group: OneShareGroup, key: SessionKey = MEMBER) -> int:
    """The number of partitions of which a member acquires something."""
    reader = group.reader([*map(group.where, range(MANY))], Wanted(key.member_id, MANY, MANY))
    return sum(bool(fetched.acquired) for fetched in read(reader).values())


def begin(
    group: OneShareGroup, key: SessionKey = MEMBER, connection: object = "one", count: int = 1
) -> ShareSession:
    partitions = {
        group.where(index): SessionPartition("t", must_answer=False) for index in range(count)
    }
    return group.partitions.sessions_of(NODE).begin(key, connection, partitions)


def test_a_session_that_ends_releases_what_it_had(group: OneShareGroup) -> None:
    session = begin(group)
    assert fetch(group) == [0, 1, 2]
    other = SessionKey(GROUP, "other")
    assert fetch(group, other) == []
    at_once(group.partitions.ended.ending(NODE, session))
    assert fetch(group, other) == [0, 1, 2]
    assert group.partitions.session_count == 0


def test_a_lost_connection_ends_its_session(group: OneShareGroup) -> None:
    begin(group)
    begin(group, SessionKey(GROUP, "other"), "two")
    fetch(group)
    share = opened(group)
    group.partitions.ended.connection_closed(NODE, "one")
    assert group.partitions.sessions_of(NODE).get(MEMBER) is None
    # The group has another member here: what is in flight stays.
    assert group.partitions.get(group.key()) is share
    assert {each.whole and each.whole.state for each in share.batches} == {RecordState.AVAILABLE}
    group.partitions.ended.connection_closed(NODE, "two")
    assert share.is_fenced, "no member of the group is connected any more"


def test_a_session_that_went_on_elsewhere_stays(group: OneShareGroup) -> None:
    begin(group)
    begin(group, connection="two")
    group.partitions.ended.connection_closed(NODE, "one")
    assert group.partitions.sessions_of(NODE).get(MEMBER) is not None


def test_a_connection_without_a_session_ends_nothing(group: OneShareGroup) -> None:
    begin(group)
    group.partitions.ended.connection_closed(NODE, "another")
    assert group.partitions.sessions_of(NODE).get(MEMBER) is not None


def test_a_session_that_another_took_the_place_of_releases_nothing(group: OneShareGroup) -> None:
    session = begin(group)
    begin(group, connection="two")
    assert fetch(group) == [0, 1, 2]
    at_once(group.partitions.ended.ending(NODE, session))
    assert group.partitions.session_count == 1
    assert fetch(group, OTHER) == []


def test_much_is_released_later(large: OneShareGroup) -> None:
    put_off: list[Steps[None]] = []
    ended = EndedSessions(large.partitions, put_off.append)
    begin(large, OTHER, "two", MANY)
    begin(large, count=MANY)
    assert fetch_all(large) == MANY
    ended.connection_closed(NODE, "one")
    assert 0 < fetch_all(large, OTHER) < MANY
    (steps,) = put_off
    at_once(steps)
    assert fetch_all(large, OTHER) > 0
    assert fetch_all(large) == 0


def test_a_member_that_is_back_keeps_what_it_acquires(large: OneShareGroup) -> None:
    put_off: list[Steps[None]] = []
    ended = EndedSessions(large.partitions, put_off.append)
    begin(large, OTHER, "two", MANY)
    begin(large, count=MANY)
    fetch_all(large)
    ended.connection_closed(NODE, "one")
    at_once(ended.finishing(NODE, MEMBER))
    begin(large, count=MANY)
    assert fetch_all(large) == MANY
    at_once(put_off.pop())
    assert fetch_all(large, OTHER) == 0


def test_what_is_in_flight_is_kept_for_a_member_that_comes_meanwhile(
    large: OneShareGroup,
) -> None:
    put_off: list[Steps[None]] = []
    ended = EndedSessions(large.partitions, put_off.append)
    begin(large, count=MANY)
    fetch_all(large)
    shares = [opened(large, index) for index in range(MANY)]
    ended.connection_closed(NODE, "one")
    begin(large, OTHER, "two", MANY)
    at_once(put_off.pop())
    assert not any(share.is_fenced for share in shares)
    assert fetch_all(large, OTHER) == MANY


def test_a_connection_that_closes_while_its_session_ends(large: OneShareGroup) -> None:
    """The request that ended it goes no further, and the rest is released all the same."""
    ended = EndedSessions(large.partitions)
    session = begin(large, count=MANY)
    begin(large, OTHER, "two", MANY)
    fetch_all(large)
    next(ended.ending(NODE, session))
    ended.connection_closed(NODE, "one")
    assert fetch_all(large, OTHER) == MANY
