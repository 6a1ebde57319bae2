"""An append that clients cannot read yet. With acks=all it is answered once they can."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kafkalite.replica.partition import Partition
from kafkalite.requests.purgatory import wait_until
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.produce import PartitionProduceResponseRow


class AwaitedAppend:
    """An append, just made, that clients may not see yet."""

    def __init__(self, partition: Partition, last_offset: int) -> None:
        self.partition = partition
        self.log = partition.log
        self.leadership = partition.leadership
        self.last_offset = last_offset
        self._failed_flush_count = self.log.failed_flush_count

    def flush_state(self) -> ErrorCode | None:
        """NONE once the flush is done, an error if it failed, None until then."""
        log = self.log
        if log.failed_flush_count != self._failed_flush_count:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self.last_offset < log.recovery_point or not log.awaits_flush:
            return ErrorCode.NONE
        if self.partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None if log.offline_reason is None else ErrorCode.KAFKA_STORAGE_ERROR

    def state(self, node_id: int) -> ErrorCode | None:
        """NONE once consumers can read it, an error if this node can no longer say so, None until
        then."""
        partition = self.partition
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.log.offline_reason is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        # A follower may have cut the records off, also if it leads again. A leader that goes on in
        # a new epoch still has them (DelayedProduce does not look at the epoch).
        if partition.leader_id != node_id or partition.leadership != self.leadership:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.high_watermark <= self.last_offset:
            return None
        if not partition.has_enough_in_sync:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def outcome(self, node_id: int) -> ErrorCode:
        """The state for a client that waits no longer."""
        state = self.state(node_id)
        return ErrorCode.REQUEST_TIMED_OUT if state is None else state


class PendingAppend(AwaitedAppend):
    """An append of a Produce above the high watermark, and the place of its response."""

    def __init__(
        self,
        partition: Partition,
        last_offset: int,
        rows: list[PartitionProduceResponseRow],
        position: int,
    ) -> None:
        super().__init__(partition, last_offset)
        self.rows = rows
        self.position = position


async def until_flushed(pending: Sequence[AwaitedAppend]) -> None:
    """Wait until no flush of these appends is waited for, however long that takes."""
    await wait_until(
        lambda: all(each.flush_state() is not None for each in pending),
        [each.partition.watchers for each in pending],
        inf,
    )


async def until_seen(pending: Sequence[AwaitedAppend], node_id: int, deadline: float) -> None:
    """Wait until these appends are visible, or never will be, or the deadline (trio's clock)."""
    await wait_until(
        lambda: all(each.state(node_id) is not None for each in pending),
        [each.partition.watchers for each in pending],
        deadline,
    )
