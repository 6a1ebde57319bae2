"""The response to a Produce request while it is made, and its rows for what was refused."""

from __future__ import annotations

from time import monotonic
from typing import Final

from kafkalite.log.append_info import AppendInfo
from kafkalite.log.checked_batch import CheckedBatch, CheckFirst
from kafkalite.log.errors import InvalidRecordsError
from kafkalite.replica.partition import Partition
from kafkalite.replica.pending_append import PendingAppend
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.slices import SLICE_SECONDS, Steps, cut
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import InMemory
from kafkalite.wire.messages.produce import (
    PartitionProduceResponseRow,
    TopicProduceDataRow,
    TopicProduceResponseRow,
)

_FIRST_LEADER_HINT_VERSION: Final = 10
_NO_OFFSET: Final = -1
_NO_TIME: Final = -1
NO_LEADER: Final = (-1, -1)  # id and epoch

# Errors found before the log was looked at: the answer then has no log start offset. Everything
# else carries the real one (ReplicaManager.appendRecordsToLeader).
_WITHOUT_LOG_START_OFFSET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)


class ProducedRows:
    """Rows of the response, appends that are not visible yet, and who leads instead of us."""

    __slots__ = ("give_way_at", "leaders", "pending", "responses")

    def __init__(self) -> None:
        self.give_way_at = 0.0
        self.responses: list[TopicProduceResponseRow] = []
        self.pending: list[PendingAppend] = []
        self.leaders: set[int] = set()

    def appended(
        self,
        partition: Partition,
        rows: list[PartitionProduceResponseRow],
        index: int,
        info: AppendInfo,
    ) -> None:
        """Note what was appended to a partition of the topic that has these rows."""
        last_offset = info.last_offset
        if last_offset >= partition.log.high_watermark:
            self.pending.append(PendingAppend(partition, last_offset, rows, len(rows)))
        rows.append(
            (
                index,
                0,
                info.base_offset,
                info.log_append_time_ms,
                info.log_start_offset,
                (),
                None,
                NO_LEADER,
            )
        )

    def begin_slice(self) -> None:
        """Others have had their turn."""
        self.give_way_at = 0.0

    def give_way_in_time(self) -> None:
        """Raises CheckFirst when the appends have taken long."""
        now = monotonic()
        if not self.give_way_at:
            self.give_way_at = now + SLICE_SECONDS
        elif now > self.give_way_at:
            raise CheckFirst(None)


def check_first(partition: Partition | None, records: InMemory | None) -> CheckFirst:
    """The batch that takes long, for a thread."""
    if partition is None or records is None:
        return CheckFirst(None)
    return CheckFirst(CheckedBatch(records, partition.log))


def refused_rows(
    topics: list[TopicProduceDataRow], refusal: KafkaError
) -> Steps[list[TopicProduceResponseRow]]:
    """The same error for all."""
    responses: list[TopicProduceResponseRow] = []
    for name, topic_id, partitions in topics:
        rows: list[PartitionProduceResponseRow] = []
        if partitions:
            responses.append((name, topic_id, rows))
        for some in cut(partitions):
            rows += [error_row(index, refusal, refusal.message) for index, _ in some]
            yield
    return responses


def failed_row(
    context: RequestContext,
    index: int,
    error: KafkaError,
    partition: Partition | None,
    leaders: set[int],
    is_outside: bool,
) -> PartitionProduceResponseRow:
    """The response for a partition that was not appended to; notes who leads it instead.

    `is_outside`: the batch would be outside of its producer's transaction.
    """
    if partition is None:
        return error_row(index, error, error.message)
    log_start_offset = _NO_OFFSET
    if error.code not in _WITHOUT_LOG_START_OFFSET and not is_outside:
        log_start_offset = partition.log.log_start_offset
    leader = NO_LEADER
    if (
        error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        and context.api_version >= _FIRST_LEADER_HINT_VERSION
    ):
        leader = partition.current_leader(leaders)
    # A refusal by the log has words only when single records are at fault (KIP-467).
    message = None
    if is_outside or isinstance(error, InvalidRecordsError):
        message = error.message
    record_errors = error.record_errors if isinstance(error, InvalidRecordsError) else ()
    return (
        index,
        error.code,
        _NO_OFFSET,
        _NO_TIME,
        log_start_offset,
        [(each.batch_index, each.message) for each in record_errors],
        message,
        leader,
    )


def error_row(index: int, error: KafkaError, message: str | None) -> PartitionProduceResponseRow:
    """The response for a partition with an error, and nothing else."""
    return (index, error.code, _NO_OFFSET, _NO_TIME, _NO_OFFSET, (), message, NO_LEADER)


def hang_up_on_error(responses: list[TopicProduceResponseRow]) -> None:
    """Raises CloseConnection if there is an error: the answer to acks=0."""
    for name, topic_id, rows in responses:
        for index, code, *_ in rows:
            if code != ErrorCode.NONE:
                raise CloseConnection(
                    f"a Produce with acks=0 to {name or topic_id}-{index} failed with "
                    f"{ErrorCode(code).name}"
                )
