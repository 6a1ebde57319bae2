"""A partition that this broker leads: its followers, its in-sync replicas, its high watermark.

Plain functions over a log, atomic among the broker's tasks. A change of the in-sync replicas is
kept in `in_sync.proposed`, and `propose` is called to have it sent. Source: Partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from kafkalite.log.log import Log
from kafkalite.replication.followers import ANY_BROKER_EPOCH, Follower
from kafkalite.replication.high_watermark import next_high_watermark
from kafkalite.replication.isr import InSyncReplicas
from kafkalite.replication.roles import PartitionView
from kafkalite.wire.errors import ErrorCode, KafkaError

_NO_EPOCH: Final = -1


def no_follower(current_leader_epoch: int) -> KafkaError:
    """The error for a Fetch of a broker that is no replica (Partition.followerReplicaOrThrow)."""
    if current_leader_epoch >= 0:
        return KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
    return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Brokers(Protocol):
    """The other brokers, as the metadata know them."""

    def registered_epoch(self, broker_id: int) -> int | None:
        """The broker epoch of a living one; None if it is fenced, shutting down or unknown."""
        ...

    def known_epoch(self, broker_id: int) -> int | None:
        """The broker epoch of a registered one, fenced or not; None if it is unknown."""
        ...


class Leading:
    """The leader's side of one partition, for as long as it leads without a break."""

    def __init__(
        self,
        node_id: int,
        log: Log,
        view: PartitionView,
        *,
        brokers: Brokers,
        now: Callable[[], float],
        max_lag_seconds: float,
        propose: Callable[[Leading], None],
    ) -> None:
        """Raises KafkaError(KAFKA_STORAGE_ERROR): the new epoch cannot be noted."""
        self.node_id = node_id
        self.log = log
        self.leader_epoch = _NO_EPOCH
        self.epoch_start_offset = 0
        self.replicas: list[int] = []
        self.followers: dict[int, Follower] = {}
        self.in_sync = InSyncReplicas(view.in_sync_replicas, view.partition_epoch)
        self._brokers = brokers
        self._now = now
        self._max_lag_seconds = max_lag_seconds
        self._propose = propose
        self.change(view)

    # -- the metadata

    def change(self, view: PartitionView) -> None:
        """Take in what the metadata say. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        is_elected = view.leader_epoch != self.leader_epoch
        if is_elected:
            self._note_epoch(view.leader_epoch)
        self.replicas = list(view.replicas)
        self._know_followers(view, is_elected)
        if is_elected or view.partition_epoch > self.in_sync.partition_epoch:
            self.in_sync.commit(view.in_sync_replicas, view.partition_epoch)
        self.advance()

    def _note_epoch(self, leader_epoch: int) -> None:
        """Now, before anything is appended: a follower may have later batches than this log."""
        self.epoch_start_offset = self.log.log_end_offset
        self._assign_epoch(leader_epoch)

    def _assign_epoch(self, leader_epoch: int) -> None:
        """On a full disk in memory only: a flush writes what is missing before it counts."""
        self.log.check_online()
        try:
            self.log.leader_epochs.assign(leader_epoch, self.epoch_start_offset)
        except OSError as error:
            refusal = self.log.storage_error(error)
            if self.log.offline_reason is not None:
                raise refusal from error

    def use(self, log: Log) -> None:
        """The log lies in another directory now. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self.log = log
        if log.leader_epochs.latest < self.leader_epoch:  # no batch of it has told
            self._assign_epoch(self.leader_epoch)

    def _know_followers(self, view: PartitionView, is_elected: bool) -> None:
        is_new_leader = self.leader_epoch == _NO_EPOCH
        known, self.followers = self.followers, {}
        for replica_id in view.replicas:
            if replica_id == self.node_id:
                continue
            follower = known.get(replica_id)
            if follower is None or is_elected:
                follower = follower or Follower()
                follower.elected(
                    is_in_sync=replica_id in view.in_sync_replicas,
                    is_new_leader=is_new_leader or replica_id not in known,
                    leader_end=self.log.log_end_offset,
                    now=self._now(),
                )
            self.followers[replica_id] = follower
        self.leader_epoch = view.leader_epoch

    # -- the high watermark

    @property
    def needed_in_sync(self) -> int:
        """The number of in-sync replicas that a write with acks=all needs."""
        return self.log.config.needed_in_sync(len(self.replicas))

    def advance(self) -> bool:
        """Move the high watermark as far as it may go; True if it moved."""
        log, maximal, now = self.log, self.in_sync.maximal, self._now()
        before = log.high_watermark
        log.advance_high_watermark(
            next_high_watermark(
                before,
                leader_end=log.visible_end_offset,
                counting_ends=[
                    follower.end_offset
                    for replica_id, follower in self.followers.items()
                    if replica_id in maximal or self._may_soon_join(replica_id, follower, now)
                ],
                in_sync_count=len(self.in_sync.committed),
                needed_in_sync=self.needed_in_sync,
            )
        )
        return log.high_watermark != before

    def _may_soon_join(self, replica_id: int, follower: Follower, now: float) -> bool:
        return self._is_caught_up(follower, now) and self._is_eligible(replica_id, follower)

    def _is_caught_up(self, follower: Follower, now: float) -> bool:
        return follower.is_caught_up(
            leader_end=self.log.log_end_offset, now=now, max_lag_seconds=self._max_lag_seconds
        )

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all living replicas, in sync or not (KIP-107)."""
        starts = [
            follower.log_start_offset
            for replica_id, follower in self.followers.items()
            if self._brokers.registered_epoch(replica_id) is not None
        ]
        return min([self.log.log_start_offset, *starts])

    # -- the followers

    def check_follower(self, replica_id: int, current_leader_epoch: int, broker_epoch: int) -> None:
        """Refuse a Fetch of a broker that is no replica, or that has registered again since.

        Raises KafkaError: UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER (KIP-903).
        """
        if replica_id not in self.followers:
            raise no_follower(current_leader_epoch)
        known = self._brokers.known_epoch(replica_id)
        if broker_epoch != ANY_BROKER_EPOCH and known is not None and broker_epoch < known:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def fetched(
        self, replica_id: int, offset: int, log_start_offset: int, broker_epoch: int
    ) -> bool:
        """A follower asks for what begins at `offset`; True if a watermark may have moved."""
        follower = self.followers[replica_id]
        before = follower.end_offset
        start_before = follower.log_start_offset
        follower.fetched(
            offset,
            log_start_offset,
            broker_epoch,
            leader_end=self.log.log_end_offset,
            now=self._now(),
        )
        if replica_id not in self.in_sync.committed and self.in_sync.is_settled:
            self._expand(replica_id, follower)
        has_advanced = follower.end_offset != before and self.advance()
        return has_advanced or follower.log_start_offset > start_before

    def _expand(self, replica_id: int, follower: Follower) -> None:
        reached = max(self.log.high_watermark, self.epoch_start_offset)
        if follower.end_offset >= reached and self._is_eligible(replica_id, follower):
            self.in_sync.propose([*self.in_sync.committed, replica_id])
            self._propose(self)

    def _is_eligible(self, replica_id: int, follower: Follower) -> bool:
        """True if the controllers would take it in: alive, and the one that fetches."""
        registered = self._brokers.registered_epoch(replica_id)
        return registered is not None and follower.broker_epoch in (ANY_BROKER_EPOCH, registered)

    def shrink(self) -> None:
        """Propose a set without the replicas that lag. Called every half of the largest lag."""
        if not self.in_sync.is_settled:
            return
        now = self._now()
        kept = [
            replica_id
            for replica_id in self.in_sync.committed
            if replica_id not in self.followers
            or self._is_caught_up(self.followers[replica_id], now)
        ]
        if len(kept) < len(self.in_sync.committed):
            self.in_sync.propose(kept)
            self._propose(self)

    # -- the controllers' answers

    def altered(self, in_sync_replicas: list[int], leader_epoch: int, partition_epoch: int) -> bool:
        """AlterPartition went through; True if the high watermark moved.

        An answer that the metadata have overtaken changes nothing.
        """
        if leader_epoch != self.leader_epoch or partition_epoch < self.in_sync.partition_epoch:
            return False
        self.in_sync.commit(in_sync_replicas, partition_epoch)
        return self.advance()
