"""Regular expressions of consumer groups.

Apache Kafka answers the first heartbeat, looks at the topics, and tells what it found in a later
one. Here the first has it already. So groups are described when both have come so far.
"""

from __future__ import annotations

import time

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

# Apache Kafka has looked after less than that.
LOOKED_SECONDS = 0.5
# With the topic's name, whose beginning no other topic has.
FOUND = (
    *("T.*", "(?i)t.*", "T|x", r"\QT\E", r"\AT\z", "(?P<n>T)", "(?<n>T)", "(?:T){1,2}", r"[\é-]*T"),
    *("(?U)T", "T[[:word:]]*", r"T\PN*?", "(?s)T.?", "(((T)))", "T|T", "T$"),
)
NOT_FOUND = (r"T\pN", "T{,2}", "T{2", r"T\é", "T$^", "T{}", "Té", "()", r"T\v", "T||b")
REFUSED = (
    *(r"\C+", r"a\C", "(?P<n>a)(?P<n>a)", "(?<n>a)(?P<n>a)", "(?=a)a", r"(a)\1", "a**", "a{1001}"),
    *(
        "[a",
        "(a",
        "a)",
        r"aa\Z",
        r"\h",
        r"\K",
        "(?x)a",
        r"\p{javaLowerCase}",
        "[[:foo:]]",
        "x{2,1}",
    ),
)


def beat(side: Side, group: str, epoch: int, expression: str | None = None) -> int:
    """The member's epoch in the answer."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=-1 if epoch else 60_000,
        topic_partitions=None if epoch else [],
        subscribed_topic_regex=expression,
    )
    answer = side.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == 0, answer
    return int(answer.member_epoch)


@pytest.mark.parametrize("expression", [*FOUND, *NOT_FOUND])
def test_what_is_matched(pair: Pair, topic: str, group: str, expression: str) -> None:
    pair.create_topic(topic)
    mine = expression.replace("T", topic)
    for side in pair.sides:
        epoch = beat(side, group, 0, mine)
        deadline = time.monotonic() + LOOKED_SECONDS
        while epoch == 1 and time.monotonic() < deadline:
            epoch = beat(side, group, epoch)
    pair.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, ConsumerGroupDescribeRequest(group_ids=[group]))


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(pair: Pair, group: str, expression: str) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        rebalance_timeout_ms=60_000,
        topic_partitions=[],
        subscribed_topic_regex=expression,
    )
    answer, _ = pair.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code != 0
