"""The most that a controller changes for one request."""

import pytest

from kafkalite.cluster.operation_size import (
    TooManyRecords,
    check_operation_size,
    checking_partition_count,
)
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError


def test_ten_thousand_records_are_allowed_and_no_more() -> None:
    check_operation_size(10_000)
    with pytest.raises(TooManyRecords, match="excessively large batch operation") as refusal:
        check_operation_size(10_001)
    assert refusal.value.code is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize(
    ("topics", "is_refused"),
    [
        ([NewTopic("a", 10_000)], False),
        ([NewTopic("a", 10_001)], True),
        ([NewTopic("a", 9_999), NewTopic("b")], False),
        ([NewTopic("a", 9_999), NewTopic("b"), NewTopic("c", 1)], True),
        ([NewTopic("a", -1, -1, [(index, [1]) for index in range(10_001)])], True),
    ],
)
def test_topics_that_are_created_together_count_together(
    topics: list[NewTopic], is_refused: bool
) -> None:
    checking = checking_partition_count(BrokerConfig(), topics)
    if is_refused:
        with pytest.raises(KafkaError, match="Excessively large number of partitions"):
            at_once(checking)
    else:
        at_once(checking)
