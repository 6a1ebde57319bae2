"""Serves a follower's Fetch: up to the log's end, and what it tells moves the high watermark.

Its offset is taken when the request comes in, not when it is answered: what it asks for it has not
got yet, what lies before it has. Source: Partition.fetchRecords, ReplicaManager.fetchMessages.
"""

from __future__ import annotations

from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import EpochEndOffset, FetchPartition, PartitionData

_FENCED_BELOW = -1


def check_epoch(replica: Replica, current_leader_epoch: int) -> None:
    """Refuse who asks in another epoch, or asks no leader.

    Raises KafkaError: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER.
    """
    if current_leader_epoch > _FENCED_BELOW and current_leader_epoch != replica.leader_epoch:
        if current_leader_epoch < replica.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if replica.leading is None:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def read(
    replica: Replica,
    wanted: FetchPartition,
    *,
    replica_id: int,
    broker_epoch: int,
    max_bytes: int,
    minimum_one_batch: bool,
    is_first: bool,
) -> PartitionData:
    """What a follower gets. `is_first`: the request has just come in, and was not parked.

    Raises KafkaError: as `check_epoch`, OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
    """
    check_epoch(replica, wanted.current_leader_epoch)
    leading = replica.leading
    assert leading is not None
    leading.check_follower(replica_id, wanted.current_leader_epoch, broker_epoch)
    log = replica.log
    high_watermark = log.high_watermark
    diverging = divergence(replica, wanted)
    if diverging is not None:
        return _answer(replica, wanted, high_watermark, diverging=diverging)
    result = log.read(
        wanted.fetch_offset,
        min(max_bytes, wanted.partition_max_bytes),
        upper_bound=log.log_end_offset,
        minimum_one_batch=minimum_one_batch,
    )
    if is_first and leading.fetched(
        replica_id, wanted.fetch_offset, wanted.log_start_offset, broker_epoch
    ):
        replica.on_change()
    answer = _answer(replica, wanted, high_watermark)
    answer.records = result.records
    return answer


def divergence(replica: Replica, wanted: FetchPartition) -> EpochEndOffset | None:
    """Where the follower's history parts from ours; None where it does not (KIP-595).

    Raises KafkaError(OFFSET_OUT_OF_RANGE).
    """
    if wanted.last_fetched_epoch < 0:
        return None
    log = replica.log
    epoch, end_offset = log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if epoch == -1 or wanted.fetch_offset < log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
        return None
    return EpochEndOffset(epoch=epoch, end_offset=end_offset)


def _answer(
    replica: Replica,
    wanted: FetchPartition,
    high_watermark: int,
    *,
    diverging: EpochEndOffset | None = None,
) -> PartitionData:
    log = replica.log
    return PartitionData(
        partition_index=wanted.partition,
        error_code=ErrorCode.NONE,
        high_watermark=high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=diverging or EpochEndOffset(),
        aborted_transactions=None,
        records=b"",
    )
