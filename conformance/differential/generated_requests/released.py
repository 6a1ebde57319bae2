"""Waiting until both sides have stored what a member gave up.

Apache Kafka answers the end of a session, notices that a connection was closed, and ends locks,
before what that releases is stored; until then nobody gets these records.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from operator import eq
from typing import Any, Final

from conformance.differential.comparison import Pair
from conformance.differential.test_share_states import about
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import read_share_group_state

# A member that has nothing left changes nothing; it is not known of all.
_A_MOMENT: Final = 0.3
_AT_ONCE: Final = 0.1
_SECONDS: Final = 5.0
# Each lock ends by itself, and the leader of the partition knows of it a moment later.
_QUIET_SECONDS: Final = 0.15


Key = tuple[str, str, int]
"""A group, a topic, and the index of a partition."""


def stored(pair: Pair, key: Key) -> list[Any]:
    """The state of a share partition, as the coordinator of each side has it."""
    group, topic, index = key
    asked = [read_share_group_state.PartitionData(partition=index, leader_epoch=-1)]
    request = about(read_share_group_state, "ReadState", group, topic, asked)
    answers = [side.ask(ApiKey.READ_SHARE_GROUP_STATE, 0, request) for side in pair.sides]
    return [answer.results[0].partitions[0] for answer in answers]


@contextmanager
def until_released(pair: Pair, keys: Mapping[Key, bool]) -> Generator[None]:
    """Go on when both sides have stored something new of each share partition since the beginning.

    kafkalite does it at once, or there is nothing to store. Where Apache Kafka is on both sides, it
    is waited for a moment for those that are not true: of them it is not known whether they will.
    """
    before = {key: stored(pair, key) for key in keys}
    yield
    changed = [
        key for key, has_records in keys.items() if _changes(pair, key, before[key], has_records)
    ]
    latest = {key: stored(pair, key) for key in changed}
    is_quiet = not changed
    while not is_quiet:
        time.sleep(_QUIET_SECONDS)
        earlier, latest = latest, {key: stored(pair, key) for key in changed}
        is_quiet = earlier == latest


def _changes(pair: Pair, key: Key, before: list[Any], has_records: bool) -> bool:
    """True once both sides have stored something new; False if it does not come in time."""
    is_sure = pair.tested.broker.kind == "kafkalite"
    began = time.monotonic()
    while any(same := list(map(eq, before, stored(pair, key)))):
        seconds = _SECONDS
        if is_sure and same[1]:
            seconds = _AT_ONCE
        elif not is_sure and not has_records:
            seconds = _A_MOMENT
        if time.monotonic() > began + seconds:
            return False
        time.sleep(0.02)
    return True
