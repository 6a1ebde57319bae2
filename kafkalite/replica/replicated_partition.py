"""A partition of a cluster of several processes: led here, followed here, or elsewhere.

For clients a partition is the same as in one process. Its replica moves the high watermark, by the
offsets of the followers. A partition without a replica here has a log that refuses everything; it
is known only so that clients can be sent to its leader.
"""

from __future__ import annotations

from uuid import UUID

from kafkalite.cluster.image import PartitionState
from kafkalite.log.log import Log
from kafkalite.replica.partition import Partition
from kafkalite.replication.fetch_state import FetchState
from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode, KafkaError


class ReplicatedPartition(Partition):
    """`replica` is None where there is none on this broker."""

    __slots__ = ("replica",)

    def __init__(
        self, topic: str, topic_id: UUID, index: int, log: Log, state: PartitionState
    ) -> None:
        self.replica: Replica | None = None
        super().__init__(
            topic,
            topic_id,
            index,
            log,
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            replicas=state.replicas,
            in_sync_replicas=state.in_sync_replicas,
        )

    def hold(self, replica: Replica) -> None:
        """There is a replica here from now on."""
        self.log, self.replica = replica.log, replica

    def log_moved(self, log: Log) -> None:
        """The log lies in another data directory now, or is there again: the replica goes on with
        it. Raises KafkaError(KAFKA_STORAGE_ERROR): it cannot lead with it."""
        try:
            if self.replica is not None:
                self.replica.use(log)
        finally:
            super().log_moved(log)

    def let_go(self, elsewhere: Log) -> None:
        """There is no replica here any more; the log `elsewhere` refuses everything."""
        self.log, self.replica = elsewhere, None

    def take(self, state: PartitionState) -> None:
        """The metadata as they are now, once the replica has taken them in."""
        self.leader_id, self.leader_epoch = state.leader_id, state.leader_epoch
        self.replicas = state.replicas
        self.in_sync_replicas = state.in_sync_replicas
        self.changed()
        self.metadata_changed()

    def changed(self) -> None:
        """The replica moved its high watermark, its end, or its in-sync replicas."""
        leading = None if self.replica is None else self.replica.leading
        if leading is not None:
            self.in_sync_replicas = leading.in_sync.committed
        self.watchers.check_and_complete()

    def check_leader(self, node_id: int, current_leader_epoch: int, *, leader_only: bool) -> None:
        """The same as in one process. Refuses everything if the log failed at the election."""
        super().check_leader(node_id, current_leader_epoch, leader_only=leader_only)
        if self.replica is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.leader_id == node_id and self.replica.leading is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    @property
    def coordinator_id(self) -> int:
        """The leader, wherever it is; -1 where that is this broker, and its log is offline."""
        return super().coordinator_id if self.is_ours else self.leader_id

    @property
    def coordinated_here(self) -> int:
        """The leader if that is this broker, and may coordinate; else -1."""
        return self.coordinator_id if self.is_ours else -1

    @property
    def is_here(self) -> bool:
        return self.replica is not None

    @property
    def is_ours(self) -> bool:
        return self.replica is not None and self.replica.leading is not None

    @property
    def fetch_state(self) -> FetchState | None:
        replica = self.replica
        return replica.fetch_state if replica is not None and replica.is_following else None

    def check_in_sync(self) -> None:
        """The same as in one process. Raises KafkaError(NOT_LEADER_OR_FOLLOWER) if another broker
        leads: a coordinator that writes may not know of the new leader yet.
        """
        if not self.is_ours:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        super().check_in_sync()

    @property
    def has_enough_in_sync(self) -> bool:
        """True if the maximal in-sync replicas are as many as min.insync.replicas asks for."""
        leading = None if self.replica is None else self.replica.leading
        if leading is None:
            return super().has_enough_in_sync
        return len(leading.in_sync.maximal) >= leading.needed_in_sync

    def reach(self, node_id: int, offset: int) -> tuple[int, float] | None:
        """The same as in one process, by what the follower told last."""
        leading = None if self.replica is None else self.replica.leading
        follower = None if leading is None else leading.followers.get(node_id)
        if follower is None or not follower.log_start_offset <= offset <= follower.end_offset:
            return None
        return follower.end_offset, follower.caught_up_at

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all living replicas; ours alone if we do not lead."""
        leading = None if self.replica is None else self.replica.leading
        return super().low_watermark if leading is None else leading.low_watermark

    def look_again(self) -> None:
        """The same as in one process; the fetcher that waits goes on, too."""
        super().look_again()
        if self.replica is not None:
            self.replica.flushes.check_and_complete()

    def _advance_high_watermark(self) -> None:
        if self.replica is not None:
            self.replica.appended()

    def _find_epoch_start(self) -> int:
        leading = None if self.replica is None else self.replica.leading
        return self.log.log_end_offset if leading is None else leading.epoch_start_offset

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(epoch, its end offset): every epoch led or followed here is noted in the log."""
        return self.log.end_offset_for_epoch(leader_epoch)

    @property
    def is_latest_unknown(self) -> bool:
        """True if the high watermark may be below the last leader's: it is before this epoch's
        start."""
        leading = None if self.replica is None else self.replica.leading
        return leading is not None and self.log.high_watermark < leading.epoch_start_offset
