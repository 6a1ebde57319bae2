"""A follower takes in its leader's answers: it appends, cuts, or begins again elsewhere.

Functions over a replica's log. An answer to a question of another leader epoch or offset is
dropped. Source: ReplicaFetcherThread.
"""

from __future__ import annotations

from contextlib import closing
from typing import Final, NamedTuple

from kafkalite.log.follower_append import appending_as_follower
from kafkalite.log.log import Log
from kafkalite.log.loggers import logger_of
from kafkalite.peers.in_memory import in_memory
from kafkalite.replication.fetch_state import UNKNOWN_EPOCH, OutOfRange, cut_offset, out_of_range
from kafkalite.replication.replica import Replica
from kafkalite.requests.slices import WaitingSteps
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import InMemory
from kafkalite.wire.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from kafkalite.wire.record_batch import iterate_batches

logger = logger_of(__name__)

# To remove so many segments takes 4 to 8 ms.
MOST_CUT: Final = 25


class Question(NamedTuple):
    """One replica's question to its leader."""

    replica: Replica
    leader_epoch: int
    offset: int

    @property
    def is_current(self) -> bool:
        """True if an answer still fits."""
        replica = self.replica
        return (
            replica.is_following
            and replica.leader_epoch == self.leader_epoch
            and replica.log.log_end_offset == self.offset
        )


def ask(replica: Replica, max_bytes: int) -> tuple[Question, FetchPartition]:
    """The next question to the leader. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    log = replica.log
    log.check_online()
    if log.leader_epochs.latest == UNKNOWN_EPOCH and log.log_end_offset > log.high_watermark:
        # Nothing tells where these records come from: only what was committed can be trusted.
        log.truncate_to(log.high_watermark)
    offset = log.log_end_offset
    wanted = FetchPartition(
        partition=replica.index,
        current_leader_epoch=replica.leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=log.leader_epochs.latest,
        log_start_offset=log.log_start_offset,
        partition_max_bytes=max_bytes,
    )
    return Question(replica, replica.leader_epoch, offset), wanted


def taking(question: Question, answer: PartitionData, now: float) -> WaitingSteps[bool]:
    """Take in a current answer; False where the leader's range of offsets must be asked for.

    Whatever is wrong with one partition keeps only that one from being copied.
    """
    replica = question.replica
    code = ErrorCode(answer.error_code)
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return False
    if code is not ErrorCode.NONE:
        logger.info("%r: the leader says %s", replica, code.name)
        replica.fetch_state.refused(code, now)
        return True
    try:
        if answer.diverging_epoch.epoch >= 0:
            _cut(replica, answer.diverging_epoch)
        else:
            yield from _appending(replica, question.leader_epoch, answer)
    except KafkaError as error:
        if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:  # the log says that, once
            logger.error("%r: not copied: %s", replica, error)
        failed(replica, error, now)
    else:
        replica.fetch_state.went_well()
    return True


def failed(replica: Replica, error: KafkaError, now: float) -> None:
    """Our log is offline, which lasts. What came may be better, and a full disk empty, later."""
    if replica.log.offline_reason is not None:
        replica.fetch_state.stop()
    else:
        replica.fetch_state.back_off(now)


def _appending(replica: Replica, leader_epoch: int, answer: PartitionData) -> WaitingSteps[None]:
    log = replica.log
    before = log.high_watermark, log.log_start_offset
    records = in_memory(answer.records)
    _begin_where_they_begin(log, records, leader_epoch)
    with closing(appending_as_follower(log, records, leader_epoch)) as steps:
        for step in steps:
            so_far = Question(replica, leader_epoch, log.log_end_offset)
            yield step
            if not so_far.is_current or replica.log is not log:
                return
    # Only what is here can be known to be committed, and only after it is.
    log.advance_high_watermark(min(answer.high_watermark, log.log_end_offset))
    replica.got(len(records), answer.high_watermark)
    if log.log_start_offset < answer.log_start_offset <= log.high_watermark:
        log.delete_records_before(answer.log_start_offset)
    if records or before != (log.high_watermark, log.log_start_offset):
        replica.on_change()


def _begin_where_they_begin(log: Log, records: InMemory, leader_epoch: int) -> None:
    """The leader's log may start within a batch: an empty log here starts with the whole of it."""
    first = next(iterate_batches(records), None)
    if first is None or first.partition_leader_epoch > leader_epoch:
        return
    is_empty = log.log_start_offset == log.log_end_offset
    if is_empty and first.base_offset < log.log_end_offset <= first.last_offset:
        log.start_over_at(first.base_offset)


def _cut(replica: Replica, diverging: EpochEndOffset) -> None:
    log = replica.log
    leader = diverging.epoch, diverging.end_offset
    offset = cut_offset(leader, log.end_offset_for_epoch(diverging.epoch), log.log_end_offset)
    offset = max(offset, _lowest_cut(log))
    logger.info(
        "%r: diverges from its leader after offset %d of epoch %d: cut from %d to %d",
        replica,
        diverging.end_offset,
        diverging.epoch,
        log.log_end_offset,
        offset,
    )
    if offset < log.high_watermark:
        logger.warning("%r: cut below its high watermark %d", replica, log.high_watermark)
    log.truncate_to(offset)
    replica.on_change()


def _lowest_cut(log: Log) -> int:
    """The lowest offset for one cut; 0: any. The answer to the next question leads to the next."""
    base_offsets = log.segments.base_offsets
    return base_offsets[-MOST_CUT] if len(base_offsets) > MOST_CUT else 0


def ranged(replica: Replica, leader_start: int, leader_end: int) -> None:
    """The leader's range, after it said OFFSET_OUT_OF_RANGE. Raises KafkaError."""
    log = replica.log
    todo = out_of_range(leader_start, leader_end, log.log_end_offset)
    logger.info(
        "%r: its end %d is out of the leader's range %d to %d: %s",
        replica,
        log.log_end_offset,
        leader_start,
        leader_end,
        todo.value,
    )
    lowest = _lowest_cut(log)
    if todo is OutOfRange.CUT:
        log.truncate_to(max(leader_end, lowest))
    elif todo is OutOfRange.START_OVER and lowest:
        log.truncate_to(lowest)
    elif todo is OutOfRange.START_OVER:
        log.start_over_at(leader_start)
    replica.on_change()
