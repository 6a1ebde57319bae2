"""An append that clients cannot read yet, and is answered once they can (acks=all)."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.replica.partition import Partition
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.produce import PartitionProduceResponseRow


class PendingAppend(NamedTuple):
    """An append above the high watermark, and the place of its response."""

    partition: Partition
    leader_epoch: int
    last_offset: int
    rows: list[PartitionProduceResponseRow]
    position: int

    def state(self, node_id: int) -> ErrorCode | None:
        """NONE once it is seen, an error if it never will be by this node; None as long as it
        waits."""
        partition = self.partition
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.log.offline_reason is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        # Leader once more is another leader: the records may have gone meanwhile.
        if partition.leader_id != node_id or partition.leader_epoch != self.leader_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.high_watermark <= self.last_offset:
            return None
        if not partition.has_enough_in_sync:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE
