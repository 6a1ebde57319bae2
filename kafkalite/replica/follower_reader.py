"""Reads what a follower's Fetch asks for, and lets it move high watermarks (replication/).

A broker without other processes beside it has no followers, and refuses who says it is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkalite.log.open_files import close_slices
from kafkalite.replica.fetch_reader import NOT_TOLD, FetchReader
from kafkalite.replica.fetch_target import NO_REPLICA, FetchTarget, PartitionResponses
from kafkalite.replica.partition import Partition
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.replication import replica_fetch
from kafkalite.replication.leading import no_follower
from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import PartitionDataRow

if TYPE_CHECKING:
    from kafkalite.replication.replicas import Key


class FollowerReader(FetchReader):
    """A FetchReader for a broker that copies what this one leads."""

    __slots__ = ("_broker_epoch", "_given", "_is_first", "_replica_id", "_throttled")

    names_leaders = False

    def asked_by(self, replica_id: int, broker_epoch: int) -> None:
        """The broker that asks, before anything is read."""
        self._replica_id = replica_id
        self._broker_epoch = broker_epoch
        self._is_first = True

    def begin(self, *, waited: bool, empty: bool) -> None:
        """The same as a consumer's, but for the end of what is read."""
        self._is_first = not waited
        self._throttled: dict[Key, Replica] = {}
        self._given: list[tuple[Replica, int]] = []
        super().begin(waited=waited, empty=empty)

    def read_some(self, targets: Sequence[FetchTarget]) -> PartitionResponses:
        """The same as a consumer's. Notes what is given of throttled partitions."""
        responses = super().read_some(targets)
        if self._throttled:
            self._given += [
                (self._throttled[key], len(row[10] or b""))
                for target, row in responses
                if (key := (target.topic_id, target.index)) in self._throttled
            ]
        return responses

    def end(self) -> None:
        """The same as a consumer's. Records that are too few to be sent yet do not count."""
        super().end()
        if self._waited or self.must_respond:
            for replica, size in self._given:
                replica.gave(size)

    def _read_partition(
        self, partition: Partition, target: FetchTarget, max_bytes: int, minimum_one_batch: bool
    ) -> PartitionDataRow:
        _, leader_epoch, offset, last_epoch, log_start_offset, most, _, _ = target.wanted
        log = partition.log
        replica = _replica(partition)
        if replica.is_throttled_as_leader:
            self._throttled[target.topic_id, target.index] = replica
        found = replica_fetch.read(
            replica,
            replica_fetch.Wanted(
                leader_epoch, offset, last_epoch, log_start_offset, min(max_bytes, most)
            ),
            replica_id=self._replica_id,
            broker_epoch=self._broker_epoch,
            minimum_one_batch=minimum_one_batch,
            is_first=self._is_first,
        )
        if found.diverging is None:
            self._partitions.append((target, partition))
        else:
            self.must_respond = True
        return (
            target.index,
            0,
            found.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            found.diverging or NOT_TOLD,
            NOT_TOLD,
            NOT_TOLD,
            None,
            NO_REPLICA,
            found.records,
        )

    def _new_bytes(self, target: FetchTarget, partition: Partition) -> int:
        """The same as a consumer's, up to the log's end."""
        _, leader_epoch, offset, _, _, max_bytes, _, _ = target.wanted
        try:
            replica = _replica(partition)
            replica_fetch.check_epoch(replica, leader_epoch)
            end = replica.log.log_end_offset
            if end <= offset or replica.keeps_back(self._replica_id):
                return 0
            result = replica.log.read(offset, max_bytes, upper_bound=end)
        except KafkaError:
            return self._min_bytes
        close_slices((result.records,))
        return len(result.records)


class ReplicaIdReader(FetchReader):
    """A FetchReader for a broker id that is not a consumer's, where one process has all replicas.

    A replica gets what a consumer gets, and any other id is refused.
    """

    __slots__ = ("_replica_id",)

    names_leaders = False

    def asked_by(self, replica_id: int, broker_epoch: int) -> None:
        """The broker that asks, before anything is read."""
        self._replica_id = replica_id
        self._leader_only = True

    def _check(self, partition: Partition, leader_epoch: int) -> None:
        super()._check(partition, leader_epoch)
        replica_id = self._replica_id
        if replica_id == partition.leader_id or replica_id not in partition.replicas:
            raise no_follower(leader_epoch)


def _replica(partition: Partition) -> Replica:
    """Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER."""
    if partition.is_deleted:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not isinstance(partition, ReplicatedPartition) or partition.replica is None:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return partition.replica
