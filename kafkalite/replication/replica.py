"""One partition on this broker: its log, its role, and what comes of changes of the metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from kafkalite.log.log import Log
from kafkalite.replication.fetch_state import FetchState
from kafkalite.replication.leading import Brokers, Leading
from kafkalite.replication.roles import ACTIONS, Action, PartitionView, Role, role_of
from kafkalite.replication.throttle import Throttles
from kafkalite.requests.purgatory import Watchers


@dataclass(frozen=True, slots=True)
class ReplicationConfig:
    """The broker's configs for replication; times in seconds, sizes in bytes."""

    max_lag_seconds: float = 30.0
    fetch_backoff_seconds: float = 1.0
    fetch_max_wait_seconds: float = 0.5
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 1 << 20
    fetch_response_max_bytes: int = 10 << 20
    socket_timeout_seconds: float = 30.0


class Surroundings(Protocol):
    """The broker, as far as a replica needs it."""

    @property
    def node_id(self) -> int: ...
    @property
    def brokers(self) -> Brokers: ...
    @property
    def config(self) -> ReplicationConfig: ...
    @property
    def throttles(self) -> Throttles: ...

    def now(self) -> float:
        """Seconds, of a clock that only goes on."""
        ...

    def propose(self, replica: Replica) -> None:
        """Have a proposal of in-sync replicas sent."""
        ...

    def follow(self, replica: Replica) -> None:
        """Copy the leader's log from now on."""
        ...

    def unfollow(self, replica: Replica) -> None:
        """Copy it no more."""
        ...


class Replica:
    """A partition with a replica here. `on_change` tells who waits to look again."""

    def __init__(
        self,
        surroundings: Surroundings,
        topic: str,
        topic_id: UUID,
        index: int,
        log: Log,
        on_change: Callable[[], None],
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.role = Role.NOWHERE
        self.leader_id = -1
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leading: Leading | None = None
        self._view: PartitionView | None = None
        # Named in the topic's configs for throttled replication.
        self.is_throttled_as_leader = self.is_throttled_as_follower = False
        self.fetch_state = FetchState(surroundings.config.fetch_backoff_seconds)
        self.on_change = on_change
        # Told of the end of every flush.
        self.flushes = Watchers()
        self._surroundings = surroundings

    def __repr__(self) -> str:
        return f"<Replica {self.topic}-{self.index} {self.role.name}>"

    @property
    def key(self) -> tuple[UUID, int]:
        """Topic id and partition."""
        return self.topic_id, self.index

    def change(self, view: PartitionView) -> Action:
        """Take in the metadata; what was done. For DELETE the caller deletes the log.

        Raises KafkaError(KAFKA_STORAGE_ERROR): the replica stays a follower that copies nothing.
        """
        known_epoch = self.partition_epoch
        if self.leading is not None:
            known_epoch = self.leading.in_sync.partition_epoch
        if view.partition_epoch < known_epoch:
            return Action.NOTHING
        role = role_of(self._surroundings.node_id, view)
        action = ACTIONS[self.role, role]
        is_new_epoch = view.leader_epoch != self.leader_epoch
        was = self.role
        self.role = role
        self.leader_id, self.leader_epoch = view.leader_id, view.leader_epoch
        self.partition_epoch = view.partition_epoch
        self._view = view
        if action is Action.LEAD:
            self._lead(view)
        elif action is Action.FOLLOW:
            self.leading = None
            if is_new_epoch or was is not Role.FOLLOWER:
                self._follow_again()
        elif action is Action.DELETE:
            self.leading = None
            self._surroundings.unfollow(self)
        self.on_change()
        return action

    def _lead(self, view: PartitionView) -> None:
        if self.leading is not None:
            self.leading.change(view)
            return
        self._surroundings.unfollow(self)
        self.leading = Leading(
            self._surroundings.node_id,
            self.log,
            view,
            brokers=self._surroundings.brokers,
            now=self._surroundings.now,
            max_lag_seconds=self._surroundings.config.max_lag_seconds,
            propose=lambda _: self._surroundings.propose(self),
        )

    def _follow_again(self) -> None:
        self._surroundings.unfollow(self)
        self.fetch_state = FetchState(self._surroundings.config.fetch_backoff_seconds)
        if self.leader_id >= 0:
            self._surroundings.follow(self)

    def use(self, log: Log) -> None:
        """The same log lies elsewhere now, or is there again: a full disk kept it shut.

        What failed for want of it begins. Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        log.advance_high_watermark(self.log.high_watermark)
        self.log = log
        if self.leading is not None:
            self.leading.use(log)
        elif self.role is Role.LEADER and self._view is not None:
            self._lead(self._view)
        elif self.fetch_state.is_stopped:
            self._follow_again()

    def appended(self) -> None:
        """Something was appended here as the leader."""
        if self.leading is not None:
            self.leading.advance()

    # -- throttled replication

    def keeps_back(self, follower_id: int) -> bool:
        """True if a follower of what is led here gets nothing now."""
        around, leading = self._surroundings, self.leading
        return (
            self.is_throttled_as_leader
            and leading is not None
            and follower_id not in leading.in_sync.committed
            and around.throttles.leader.is_used_up(around.now())
        )

    def gave(self, size: int) -> None:
        """Followers got so many bytes."""
        if self.is_throttled_as_leader:
            self._surroundings.throttles.leader.record(size, self._surroundings.now())

    @property
    def holds_back(self) -> bool:
        """True if the leader is to be asked for nothing now."""
        around = self._surroundings
        return (
            self.is_throttled_as_follower
            and self.fetch_state.lag != 0
            and around.throttles.follower.is_used_up(around.now())
        )

    def got(self, size: int, leader_high_watermark: int) -> None:
        """So many bytes came from the leader, and are in the log."""
        self.fetch_state.lag = max(0, leader_high_watermark - self.log.log_end_offset)
        if self.is_throttled_as_follower:
            self._surroundings.throttles.follower.record(size, self._surroundings.now())

    @property
    def is_following(self) -> bool:
        """True if there is a leader to copy."""
        return self.role is Role.FOLLOWER and self.leader_id >= 0
