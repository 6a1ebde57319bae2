"""kafkalite with one fault planted: `python -m conformance.differential.planted_faults NAME
[FLAGS]`.

The command runs as its users start it, and one function of the broker gives a wrong result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkalite.__main__ import main
from kafkalite.wire.api_keys import ApiKey


def wrap(owner: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Let `change` have every result of a function. Raises AttributeError if it is not there."""
    function = getattr(owner, name)
    setattr(owner, name, lambda *given, **named: change(function(*given, **named)))


def a_later_offset() -> None:
    """Produce is told the offset behind that of its first record."""
    from kafkalite.replica.partition import Partition

    wrap(Partition, "append", lambda info: info._replace(base_offset=info.base_offset + 1))


def no_session() -> None:
    """A fetch session is never opened."""
    from kafkalite.replica.fetch_sessions import FetchSessionCache

    wrap(FetchSessionCache, "open", lambda session_id: 0)


def another_leader_epoch() -> None:
    """Metadata tells a leader epoch that was not yet."""
    from kafkalite.apis import metadata

    wrap(metadata, "_partition", lambda row: (*row[:3], row[3] + 1, *row[4:]))


# name: (the API in which it shows, how it is planted)
FAULTS: dict[str, tuple[ApiKey, Callable[[], None]]] = {
    "a later offset": (ApiKey.PRODUCE, a_later_offset),
    "no fetch session": (ApiKey.FETCH, no_session),
    "another leader epoch": (ApiKey.METADATA, another_leader_epoch),
}


def always_the_first_delivery() -> None:
    """Every record of a queue is said to be delivered for the first time."""
    from kafkalite.replica.share import share_reader

    wrap(
        share_reader,
        "acquire",
        lambda acquired: [each._replace(delivery_count=1) for each in acquired],
    )


def tasks_of_others() -> None:
    """Members of a streams group get one another's tasks."""
    from kafkalite.group_coordinator import streams_changes

    wrap(
        streams_changes,
        "assign_sticky",
        lambda tasks: dict(zip(tasks, reversed(tasks.values()), strict=True)),
    )


def accepted_comes_back() -> None:
    """Accepting a record releases it."""
    from kafkalite.replica.share import acknowledgement
    from kafkalite.replica.share.in_flight import RecordEvent

    replaced = {acknowledgement.AcknowledgeType.ACCEPT: RecordEvent.RELEASE}
    vars(acknowledgement)["_EVENTS"] = {**vars(acknowledgement)["_EVENTS"], **replaced}


def anyone_acknowledges() -> None:
    """A member may speak for a batch that another has."""
    from kafkalite.replica.share import acknowledgement

    vars(acknowledgement)["_check_member"] = lambda whole, member_id: None


CLOSED = "connection_closed"


def crashed_members_keep_theirs() -> None:
    """A connection that is cut releases nothing."""
    from kafkalite.replica.share.ended_sessions import EndedSessions

    assert hasattr(EndedSessions, CLOSED)
    setattr(EndedSessions, CLOSED, lambda *given: None)


def every_epoch_is_taken() -> None:
    """A member of a streams group may name any epoch."""
    from kafkalite.group_coordinator import streams_protocol

    vars(streams_protocol)["check_epoch"] = lambda *given: None


def a_member_too_few() -> None:
    """A streams group is described without its first member."""
    from kafkalite.group_coordinator import streams_api

    wrap(streams_api, "described", lambda group: replace(group, members=group.members[1:]))


def another_lag() -> None:
    """The offsets of a share group are described with a record too many still to be read."""
    from kafkalite.coordinators.share_adapter import ShareServices

    wrap(ShareServices, "latest_offset", lambda offset: offset + 1)


def states_are_forgotten() -> None:
    """The share coordinator keeps the start of a share partition, and no batches behind it."""
    from kafkalite.coordinators.share_coordinator import share_state

    wrap(share_state, "combine", lambda batches: [])


# The same, for stories about share and streams groups: the API in which it shows.
GROUP_FAULTS: dict[str, tuple[ApiKey, Callable[[], None]]] = {
    "always the first delivery": (ApiKey.SHARE_FETCH, always_the_first_delivery),
    "accepted comes back": (ApiKey.SHARE_FETCH, accepted_comes_back),
    "anyone acknowledges": (ApiKey.SHARE_FETCH, anyone_acknowledges),
    "crashed members keep theirs": (ApiKey.SHARE_FETCH, crashed_members_keep_theirs),
    "every epoch is taken": (ApiKey.STREAMS_GROUP_HEARTBEAT, every_epoch_is_taken),
    "tasks of others": (ApiKey.STREAMS_GROUP_HEARTBEAT, tasks_of_others),
    "a member too few": (ApiKey.STREAMS_GROUP_DESCRIBE, a_member_too_few),
    "another lag": (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, another_lag),
    "states are forgotten": (ApiKey.READ_SHARE_GROUP_STATE, states_are_forgotten),
}


if __name__ == "__main__":
    (FAULTS | GROUP_FAULTS)[sys.argv[1]][1]()
    sys.exit(main(sys.argv[2:]))
