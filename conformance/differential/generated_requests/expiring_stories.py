"""Stories about the offsets of a group whose members come and go: some are committed for a moment
only, and go when no member subscribes to their topic; a group without members and offsets goes.

Each step after which something may go is over on both sides before the next begins.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests.mixed_stories import STEPS as MIXED
from conformance.differential.generated_requests.mixed_stories import (
    G,
    MixedWorld,
    by_range,
    committing,
)
from conformance.differential.generated_requests.references import resolved
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.vocabulary import of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.list_groups import ListGroupsRequest

TICK_MS = 100
PROPERTIES = {"offsets.retention.check.interval.ms": str(TICK_MS)}
# Several ticks, also on a busy machine.
TICKS_SECONDS = 0.3
AN_HOUR_MS = 3_600_000
# Requests after which a topic may have no subscriber, or a group no member.
_CHANGES = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.DELETE_TOPICS,
    ApiKey.JOIN_GROUP,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_DELETE,
    ApiKey.SYNC_GROUP,
}


class Expiring(MixedWorld):
    """Notes if an offset was committed that does not stay."""

    has_brief = False

    def take(self, step: Step) -> None:
        super().take(step)
        if step.api is ApiKey.OFFSET_COMMIT:
            self.has_brief |= step.version <= 4 and abs(step.body.retention_time_ms) < TICK_MS
        if step.api in _CHANGES and (self.has_brief or self.is_empty(self.pair.reference)):
            time.sleep(TICKS_SECONDS)
            self.see_who_woke()

    def is_empty(self, side: Side) -> bool:
        """True if the group is there, and has no members."""
        answer = side.ask(ApiKey.LIST_GROUPS, 5, ListGroupsRequest(states_filter=["Empty"]), "own")
        name = resolved(G, self.memories[side])
        return any(each.group_id == name for each in answer.groups)


def _for_a_while(body: Any, retention_ms: int) -> Any:
    return replace(body, retention_time_ms=retention_ms)


_brief = st.builds(
    Step,
    st.just(ApiKey.OFFSET_COMMIT),
    of(2, 3, 4),
    st.builds(_for_a_while, committing, of(1, 1, 1, 0, -2, -1, AN_HOUR_MS)),
)
STORIES = st.lists(st.one_of(*MIXED, *[_brief] * 6), min_size=20, max_size=50).map(by_range)
