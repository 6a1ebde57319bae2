"""A coordinator's partition in one leader epoch, and what the coordinator wrote to it by then.

A coordinator decides and writes at once. That counts for others once all in-sync replicas have it,
and never if the partition is led anew before: the next coordinator may know nothing of it. Source:
CoordinatorRuntime, whose deferred events wait for the high watermark, and whose context is closed
when the partition is led elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition


class Standing:
    """A coordinator's partition in the leader epoch in which something began."""

    __slots__ = ("_end_offset", "leader_epoch", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self._end_offset = 0

    def decided(self) -> None:
        """Take all that is there by now for what was decided."""
        self._end_offset = self.partition.log.log_end_offset

    @property
    def verdict(self) -> ErrorCode | None:
        """NONE if what was decided counts, NOT_COORDINATOR if it may never count, None until that
        is known.

        A node that is elected again is a new coordinator: the records may be gone by then.
        """
        partition = self.partition
        is_coordinated = partition.coordinated_here >= 0 and not partition.is_deleted
        if not is_coordinated or partition.leader_epoch != self.leader_epoch:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE if partition.high_watermark >= self._end_offset else None
