"""Acknowledgements of records that are not the member's any more: its lock or the topic is gone;
and those that come with a fetch."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.share_requests import (
    ACCEPT,
    NOTHING,
    REJECT,
    RELEASE,
    Member,
    beat,
    configure,
    offsets,
    produce,
    until_ready,
)
from conformance.differential.test_share_groups import alter, member, queue
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest

__all__ = ["member", "queue"]  # the fixtures


def test_behind_the_start_offset_nothing_is_wrong(pair: Pair, queue: str, member: Any) -> None:
    """A member accepts what another has accepted, and hears of no error once all is."""
    produce(pair, queue, 5, 5)
    m, n = member(), member("m-2")
    m.fetch()
    m.fetch(epoch=-1, without_topics=True)
    time.sleep(0.5)  # Apache Kafka answers before what is released is stored
    n.fetch(max_records=5)
    m.fetch(epoch=0)
    assert _error_of(m.say((0, 4, ACCEPT))) is ErrorCode.INVALID_RECORD_STATE
    n.say((0, 2, ACCEPT))
    assert _error_of(m.say((0, 2, ACCEPT))) is ErrorCode.NONE
    assert _error_of(m.say((0, 4, ACCEPT))) is ErrorCode.INVALID_RECORD_STATE
    n.say((3, 4, REJECT))
    assert _error_of(m.say((0, 4, ACCEPT))) is ErrorCode.NONE
    m.say((0, 6, REJECT))
    m.say((0, 9, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])


@pytest.mark.parametrize("topic_id", [UUID(int=0), UUID(int=77)])
def test_acknowledgements_of_no_topic(pair: Pair, queue: str, member: Any, topic_id: UUID) -> None:
    produce(pair, queue, 5)
    m = member()
    m.fetch()
    own = m.topic_id
    m.topic_id = lambda side: topic_id
    m.say((0, 1, ACCEPT))
    m.fetch((0, 1, ACCEPT), max_wait_ms=100)
    m.fetch(max_wait_ms=100)
    m.fetch(max_wait_ms=100, without_topics=True)
    unknown, m.topic_id = m.topic_id, own
    m.say((0, 4, ACCEPT))
    n = member("m-2")
    n.topic_id = unknown
    n.fetch(max_wait_ms=100)
    n.fetch(max_wait_ms=100, without_topics=True)
    n.fetch((0, 0, ACCEPT), is_renew_ack=True, **NOTHING)
    n.fetch((0, 0, ACCEPT), epoch=-1)


def test_released_by_a_fetch(pair: Pair, queue: str, member: Any) -> None:
    """Apache Kafka looks for records while it stores that: what else there is comes first."""
    produce(pair, queue, *[1] * 6)
    m = member()
    m.fetch(max_records=2, batch_size=1)
    for offset in (0, 1):
        m.fetch((offset, offset, RELEASE), max_records=1, batch_size=1)
    for _ in range(2):
        m.fetch(max_records=1, batch_size=1, max_wait_ms=100)
    m.fetch((2, 2, RELEASE), (3, 3, ACCEPT), max_records=5)
    m.fetch((0, 1, ACCEPT), max_wait_ms=100)
    offsets(pair, m.group, [(queue, [0])])


def test_the_most_locks_and_a_fetch_that_accepts(pair: Pair, queue: str, member: Any) -> None:
    produce(pair, queue, *[50] * 4)
    m = member()
    configure(pair, m.group, **{"share.partition.max.record.locks": "100"})
    m.fetch()
    m.fetch((0, 49, ACCEPT), max_wait_ms=300)
    m.fetch((50, 99, RELEASE), max_wait_ms=300)
    m.fetch(max_wait_ms=100)
    offsets(pair, m.group, [(queue, [0])])


@pytest.mark.parametrize("change", ["altered", "deleted"])
def test_the_state_has_become_another(pair: Pair, group: str, queue: str, change: str) -> None:
    """The offsets of the group were set, or it was deleted, while a member has records."""
    produce(pair, queue, 4)
    beat(pair, group, "leaves", subscribed_topic_names=[queue])
    until_ready(pair, group, queue, 2)
    beat(pair, group, "leaves", member_epoch=-1)
    m = Member(pair, group, queue)
    m.fetch(max_wait_ms=1000)
    produce(pair, queue, 4)
    m.fetch(max_wait_ms=1000)
    m.say((0, 0, ACCEPT))
    if change == "altered":
        alter(pair, group, queue, 0, 2)
    else:
        pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    offsets(pair, group, [(queue, [0])])
    m.say((1, 3, ACCEPT))
    offsets(pair, group, [(queue, [0])])
    m.fetch(max_wait_ms=500)


def _error_of(answer: Any) -> ErrorCode:
    return ErrorCode(answer.responses[0].partitions[0].error_code)
