"""Waiting until both sides have stored what a member gave up.

Apache Kafka answers the end of a session, notices that a connection was closed, and ends locks,
before what that releases is stored; until then nobody gets these records.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from operator import eq
from typing import Any, Final

from conformance.differential.comparison import Pair
from conformance.differential.test_share_states import about
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import read_share_group_state

# A member that has nothing left changes nothing; it is not known of all.
_SECONDS_FOR_NOTHING: Final = 0.3
_SECONDS: Final = 5.0
# Each lock ends by itself, and the leader of the partition knows of it a moment later.
_QUIET_SECONDS: Final = 0.15


def stored(pair: Pair, name: str) -> list[Any]:
    """The state of partition 0 of a topic and its group, as the coordinator of each side has it."""
    asked = [read_share_group_state.PartitionData(partition=0, leader_epoch=-1)]
    request = about(read_share_group_state, "ReadState", name, name, asked)
    answers = [side.ask(ApiKey.READ_SHARE_GROUP_STATE, 0, request) for side in pair.sides]
    return [answer.results[0].partitions[0] for answer in answers]


@contextmanager
def until_released(pair: Pair, name: str, *, has_records: bool) -> Generator[None]:
    """Go on when both sides have stored something new since the beginning.

    Without `has_records` it is not known whether they will: then it is waited for a moment.
    """
    before = stored(pair, name)
    yield
    deadline = time.monotonic() + (_SECONDS if has_records else _SECONDS_FOR_NOTHING)
    latest = stored(pair, name)
    while any(map(eq, before, latest)):
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)
        latest = stored(pair, name)
    is_quiet = False
    while not is_quiet:
        time.sleep(_QUIET_SECONDS)
        earlier, latest = latest, stored(pair, name)
        is_quiet = earlier == latest
