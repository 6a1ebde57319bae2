"""Changes of a group: the group has them at once, and the log in the end."""

from __future__ import annotations

from kafkalite.group_coordinator import state_log, streams_records
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import StreamsMember

MEMBER = StreamsMember(member_id="m", process_id="p")


def test_the_group_has_a_change_at_once() -> None:
    changes = Changes(StreamsGroup("app"))
    changes.add(streams_records.member("app", MEMBER))
    assert list(changes.group.members) == ["m"]
    changes.extend(streams_records.RECORDS.no_member("app", "m"))
    assert changes.group.members == {}


def test_the_records_follow_those_they_began_with() -> None:
    first = (b"k", None)
    added = streams_records.member("app", MEMBER)
    changes = Changes(StreamsGroup("app"), first)
    changes.add(added)
    assert changes.records == [first, state_log.encoded(*added)]
    changes.extend(streams_records.RECORDS.no_member("app", "m"))
    assert [value is None for _, value in changes.records] == [True, False, True, True, True]
