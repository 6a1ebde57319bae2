"""The most that a controller changes for one request.

Source: Kafka's QuorumController (MAX_RECORDS_PER_USER_OP), ReplicationControlManager.
"""

from __future__ import annotations

from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError

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
