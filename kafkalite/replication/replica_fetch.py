"""Serves a follower's Fetch: up to the log's end. Its offsets move the high watermark.

A follower has everything below the offset that it asks for. That offset is noted when the request
comes in, not when it is answered. Source: Partition.fetchRecords, ReplicaManager.fetchMessages.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.leader_epochs import check_leader_epoch, divergence
from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import Records


def check_epoch(replica: Replica, current_leader_epoch: int) -> None:
    """Refuse a request for another leader epoch, or one to a replica that does not lead.

    Raises KafkaError: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER.
    """
    check_leader_epoch(current_leader_epoch, replica.leader_epoch)
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
    diverging = diverging_at(replica, wanted.offset, wanted.last_fetched_epoch)
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


def diverging_at(
    replica: Replica, fetch_offset: int, last_fetched_epoch: int
) -> tuple[int, int] | None:
    """The place where the follower's history parts from ours; None if it does not (KIP-595).

    Raises KafkaError(OFFSET_OUT_OF_RANGE).
    """
    if last_fetched_epoch < 0:
        return None
    log = replica.log
    return divergence(
        *log.end_offset_for_epoch(last_fetched_epoch),
        last_fetched_epoch=last_fetched_epoch,
        fetch_offset=fetch_offset,
        log_start=log.log_start_offset,
    )
