"""The most that a controller changes for one request.

Source: Kafka's QuorumController (MAX_RECORDS_PER_USER_OP), ReplicationControlManager.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.requests.slices import Steps, cut
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.cluster.topic_creation import NewTopic
    from kafkalite.config import BrokerConfig

MAX_RECORDS: Final = 10_000


class TooManyRecords(KafkaError):
    """The change would write more than MAX_RECORDS records."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
        )


def check_operation_size(records: int) -> None:
    """Raises TooManyRecords."""
    if records > MAX_RECORDS:
        raise TooManyRecords


def checking_partition_count(config: BrokerConfig, new_topics: Sequence[NewTopic]) -> Steps[None]:
    """Topics that are created together have no more partitions than that. Raises KafkaError."""
    total = 0
    for some in cut(new_topics):
        for new in some:
            count = len(new.assignments)
            total += count or config.partition_count(new.partition_count)
        yield
    if total > MAX_RECORDS:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
