"""Reads what a follower's Fetch asks for, and lets it move high watermarks (replication/)."""

from __future__ import annotations

from kafkalite.log.open_files import close_slices
from kafkalite.replica.fetch_reader import Answers, FetchReader
from kafkalite.replica.fetch_sessions import FetchTarget
from kafkalite.replica.partition import Partition
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.replication import replica_fetch
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import PartitionData


class FollowerReader(FetchReader):
    """A FetchReader for a broker. `replica_id` and `broker_epoch` are the follower's."""

    __slots__ = ("_broker_epoch", "_is_first", "_replica_id")

    def asked_by(self, replica_id: int, broker_epoch: int) -> FollowerReader:
        """Say who asks, before anything is read."""
        self._replica_id = replica_id
        self._broker_epoch = broker_epoch
        self._is_first = True
        return self

    def read(self, *, waited: bool = False, empty: bool = False) -> Answers:
        """As a consumer's, but for the end of what is read."""
        self._is_first = not waited
        return super().read(waited=waited, empty=empty)

    def _check(self, partition: Partition, target: FetchTarget) -> None:
        if partition.is_deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _read_partition(
        self,
        partition: Partition,
        target: FetchTarget,
        max_bytes: int,
        minimum_one_batch: bool,
    ) -> PartitionData:
        if not isinstance(partition, ReplicatedPartition) or partition.replica is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        answer = replica_fetch.read(
            partition.replica,
            target.wanted,
            replica_id=self._replica_id,
            broker_epoch=self._broker_epoch,
            max_bytes=max_bytes,
            minimum_one_batch=minimum_one_batch,
            is_first=self._is_first,
        )
        self._partitions.append((target, partition))
        return answer

    def has_enough(self) -> bool:
        """Whether there are min_bytes by now, or something that must be said at once."""
        size = 0
        for target, partition in self._partitions:
            wanted = target.wanted
            try:
                self._check(partition, target)
                assert isinstance(partition, ReplicatedPartition)
                replica = partition.replica
                if replica is None:
                    return True
                replica_fetch.check_epoch(replica, wanted.current_leader_epoch)
                if replica.log.log_end_offset <= wanted.fetch_offset:
                    continue
                result = replica.log.read(
                    wanted.fetch_offset,
                    wanted.partition_max_bytes,
                    upper_bound=replica.log.log_end_offset,
                )
            except KafkaError:
                return True
            size += len(result.records)
            close_slices((result.records,))
            if size >= self._min_bytes:
                return True
        return False
