"""Serves a follower's Fetch: up to the log's end, and what it tells moves the high watermark.

Its offset is taken when the request comes in, not when it is answered: what it asks for it has not
got yet, what lies before it has. Source: Partition.fetchRecords, ReplicaManager.fetchMessages.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import Records

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


class FollowerRead(NamedTuple):
    """A follower gets records, or (epoch, end offset) where its history parts from ours."""

    high_watermark: int
    diverging: tuple[int, int] | None = None
    records: Records = b""


class Wanted(NamedTuple):
    """A follower's question about one partition."""

    leader_epoch: int
    offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


def read(
    replica: Replica,
    wanted: Wanted,
    *,
    replica_id: int,
    broker_epoch: int,
    minimum_one_batch: bool,
    is_first: bool,
) -> FollowerRead:
    """Read for a follower. `is_first`: the request has just come in, and was not parked.

    Raises KafkaError: as `check_epoch`, OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
    """
    check_epoch(replica, wanted.leader_epoch)
    leading = replica.leading
    assert leading is not None
    leading.check_follower(replica_id, wanted.leader_epoch, broker_epoch)
    log = replica.log
    high_watermark = log.high_watermark
    diverging = divergence(replica, wanted.offset, wanted.last_fetched_epoch)
    if diverging is not None:
        return FollowerRead(high_watermark, diverging)
    is_kept_back = replica.keeps_back(replica_id)
    result = log.read(
        wanted.offset,
        0 if is_kept_back else wanted.max_bytes,
        upper_bound=log.log_end_offset,
        minimum_one_batch=minimum_one_batch and not is_kept_back,
    )
    if is_first and leading.fetched(
        replica_id, wanted.offset, wanted.log_start_offset, broker_epoch
    ):
        replica.on_change()
    return FollowerRead(high_watermark, None, result.records)


def divergence(
    replica: Replica, fetch_offset: int, last_fetched_epoch: int
) -> tuple[int, int] | None:
    """The place where the follower's history parts from ours; None if it does not (KIP-595).

    Raises KafkaError(OFFSET_OUT_OF_RANGE).
    """
    if last_fetched_epoch < 0:
        return None
    log = replica.log
    epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
    if epoch == -1 or fetch_offset < log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == last_fetched_epoch and end_offset >= fetch_offset:
        return None
    return epoch, end_offset
