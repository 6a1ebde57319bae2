"""Share partitions of this process, opened at their first fetch (SharePartitionManager).

A share partition begins with what the share coordinator has stored; where that has no start offset
yet, the group's share.auto.offset.reset says where. It is dropped, to be opened anew, when the
partition gets another leader or goes, when its state turns out to belong to somebody else, and when
no member of the group is connected any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import trio

from kafkalite.clock import Clock, SystemClock
from kafkalite.group_coordinator.timers import NEVER, Timer, Timers
from kafkalite.log.loggers import logger_of
from kafkalite.replica.share.acknowledgement import release_expired
from kafkalite.replica.share.ended_sessions import EndedSessions
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.replica.share.offset_lookup import find_offset
from kafkalite.replica.share.share_partition import (
    ShareLimits,
    SharePartition,
    SharePartitionKey,
    StateUpdate,
)
from kafkalite.replica.share.share_sessions import ShareSessions, TopicPartitionId
from kafkalite.replica.share.state_errors import as_answered
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import Steps, at_once, batches
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from kafkalite.replica.partition import Partition
    from kafkalite.replica.share.state_batch import StateBatch
    from kafkalite.replica.topics import Topics

_logger = logger_of(__name__)

_NO_START_OFFSET: Final = -1
# After these, a share partition is opened anew.
_FENCING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class StoredState(Protocol):
    """The state that the share coordinator has stored of a share partition."""

    @property
    def state_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int:
        """-1 until it was decided."""
        ...

    @property
    def batches(self) -> Sequence[StateBatch]: ...


class StateStore(Protocol):
    """The share coordinator, as leaders of share partitions see it. Both raise KafkaError."""

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> StoredState: ...

    def write_state(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int, update: StateUpdate
    ) -> None: ...


class GroupSettings(Protocol):
    """The configs of a share group, or the broker's for it."""

    def limits(self, group_id: str) -> ShareLimits: ...
    def reset_timestamp_ms(self, group_id: str) -> int:
        """share.auto.offset.reset as ListOffsets has it: -1 latest, -2 earliest, or a timestamp."""
        ...

    def reads_committed_only(self, group_id: str) -> bool: ...


class AcquisitionLock(NamedTuple):
    """The records of a share partition that a member has until `at`, in the clock's seconds."""

    at: float
    key: SharePartitionKey
    member_id: str


@dataclass(slots=True)
class ShareCounts:
    """For the metrics, since the start. `asked` and `acquired`: the partitions that fetches asked
    for, and those that gave records."""

    evictions: int = 0
    loads: int = 0
    load_seconds: float = 0.0
    asked: int = 0
    acquired: int = 0


class SharePartitions:
    """The share partitions, and the sessions of those who fetch them.

    Acquisition locks follow `clock`. `most_sessions` is per node. `later` takes steps
    that are too many for one turn.
    """

    def __init__(
        self,
        topics: Topics,
        store: StateStore,
        settings: GroupSettings,
        *,
        most_sessions: Callable[[], int],
        clock: Clock | None = None,
        later: Callable[[Steps[None]], object] = at_once,
    ) -> None:
        self._topics = topics
        self._store = store
        self.settings = settings
        self._most_sessions = most_sessions
        self._clock = clock = SystemClock() if clock is None else clock
        self.clock = clock.time
        self._open: dict[SharePartitionKey, _Opened] = {}
        self._sessions: dict[int, ShareSessions] = {}
        self.ended = EndedSessions(self, later)
        self._watchers: dict[SharePartitionKey, Watchers] = {}
        self._timers = Timers(self.clock, self._wake_earlier)
        self._nap: trio.CancelScope | None = None
        clock.subscribe(self._wake_earlier)
        self.acknowledged: Counter[int] = Counter()
        """Records that members have acknowledged, by type."""
        self.counts = ShareCounts()

    async def run(self) -> None:
        """Let time pass: without this task, no lock ever runs out."""
        while True:
            self.release_due()
            with trio.CancelScope(deadline=self._next_time()) as self._nap:
                await trio.sleep_forever()

    def _next_time(self) -> float:
        """The time to look next, by trio's clock."""
        return self._clock.trio_deadline(self.next_lock_time())

    def _wake_earlier(self) -> None:
        if self._nap is not None:
            self._nap.deadline = self._next_time()

    def sessions_of(self, node_id: int) -> ShareSessions:
        sessions = self._sessions.get(node_id)
        if sessions is None:
            sessions = self._sessions[node_id] = ShareSessions(self._most_sessions())
        return sessions

    @property
    def session_count(self) -> int:
        return sum(map(len, self._sessions.values()))

    @property
    def session_partition_count(self) -> int:
        """The partitions of all sessions."""
        return sum(sessions.partition_count for sessions in self._sessions.values())

    # Share partitions

    def opened(self) -> list[SharePartition]:
        """The share partitions that are open."""
        return [opened.share for opened in self._open.values()]

    def is_known(self, where: TopicPartitionId) -> bool:
        """True if there is such a partition."""
        topic = self._topics.by_id(where.topic_id)
        return topic is not None and topic.partition(where.partition) is not None

    def is_topic(self, topic_id: UUID) -> bool:
        """True if there is such a topic."""
        return self._topics.by_id(topic_id) is not None

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._topics.name_of(topic_id)

    def leader_of(self, where: TopicPartitionId) -> int:
        """The node that leads the partition; -1 if there is none."""
        topic = self._topics.by_id(where.topic_id)
        return -1 if topic is None else topic.partitions[where.partition].leader_id

    def find_partition(self, where: TopicPartitionId, node_id: int) -> Partition:
        """The partition, if this node leads it. Raises KafkaError."""
        partition = self._topics.partition(where.topic_id, where.partition)
        if partition.leader_id != node_id or not partition.is_ours:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return partition

    def get(self, key: SharePartitionKey) -> SharePartition | None:
        """The partition, if it is open and still led in the epoch in which it was opened."""
        opened = self._open.get(key)
        if opened is None:
            return None
        if opened.partition.is_deleted or opened.partition.leader_epoch != opened.leader_epoch:
            self.drop(key)
            return None
        return opened.share

    def open(self, key: SharePartitionKey, partition: Partition) -> SharePartition:
        """The share partition, with what was stored of it. Raises KafkaError."""
        found = self.get(key)
        if found is not None:
            return found
        began = monotonic()
        leader_epoch = partition.leader_epoch
        try:
            state = self._store.read_state(key, leader_epoch)
        except KafkaError as error:
            raise as_answered(error) from error
        opened = _Opened(self, key, partition, leader_epoch, state.state_epoch)
        start_offset = state.start_offset
        if start_offset == _NO_START_OFFSET:
            timestamp_ms = self.settings.reset_timestamp_ms(key.group_id)
            start_offset = find_offset(partition, timestamp_ms)
        try:
            opened.share.load(start_offset, state.batches)
        except ValueError as error:
            _logger.error("share partition %s cannot be opened: %s", key, error)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        self._open[key] = opened
        self.counts.loads += 1
        self.counts.load_seconds += monotonic() - began
        return opened.share

    def drop(self, key: SharePartitionKey) -> None:
        """Forget what is in flight; who waits for it looks again."""
        opened = self._open.pop(key, None)
        if opened is not None:
            opened.share.is_fenced = True
            opened.lock_timer.close()
            self.watchers_of(key).check_and_complete()

    def drop_if_led_by(self, node_id: int, key: SharePartitionKey) -> None:
        opened = self._open.get(key)
        if opened is not None and opened.partition.leader_id == node_id:
            self.drop(key)

    def topics_deleted(self, topic_ids: Collection[UUID]) -> Steps[None]:
        """Drop the share partitions of topics that are gone."""
        known = list(self._watchers)  # all that are open, and others that were waited for
        for some in batches([key for key in known if key.topic_id in topic_ids]):
            for key in some:
                self.drop(key)
                if not self._watchers.get(key):
                    self._watchers.pop(key, None)
            yield

    def leaders_changed(self) -> Steps[None]:
        """Drop the share partitions that are led elsewhere now, or in another epoch.

        Until then, `get` does so with each that is asked for.
        """
        for some in batches(list(self._open)):
            for key in some:
                self.get(key)
            yield

    def drop_if_fenced(self, key: SharePartitionKey, error: KafkaError) -> None:
        """After an error that says that the state is somebody else's, it is opened anew."""
        if error.code in _FENCING:
            self.drop(key)

    def write(self, opened: _Opened, update: StateUpdate) -> None:
        try:
            self._store.write_state(
                opened.share.key, opened.state_epoch, opened.leader_epoch, update
            )
        except KafkaError as error:
            raise as_answered(error) from error

    # Time, and who waits

    def watchers_of(self, key: SharePartitionKey) -> Watchers:
        """Notified when records of the share partition become available again, or it is dropped."""
        return self._watchers.setdefault(key, Watchers())

    def watch_locks(self, key: SharePartitionKey, deadline: float) -> None:
        """Records were acquired until then."""
        opened = self._open.get(key)
        if opened is not None and deadline < opened.lock_timer.deadline:
            self._timers.set(opened.lock_timer, deadline - self.clock())

    def next_lock_time(self) -> float:
        """The next time at which a lock may run out, in the clock's seconds."""
        return self._timers.next_time()

    def release_due(self) -> None:
        """Release what was kept for too long: some locks of one share partition."""
        self._timers.expire_due(1)

    def locks(self, until: float = NEVER) -> list[AcquisitionLock]:
        """Each time at which records of a member are released, the earliest first.

        `until`: of the partitions alone of which some are released by then.
        """
        found = {
            AcquisitionLock(delivery.deadline, key, delivery.member_id)
            for key, opened in self._open.items()
            if opened.lock_timer.deadline <= until
            for batch in opened.share.batches
            for _, _, delivery in batch.runs()
            if delivery.state is RecordState.ACQUIRED
        }
        return sorted(found, key=lambda lock: (lock.at, lock.key.group_id, lock.member_id))

    def locks_ran_out(self, opened: _Opened) -> None:
        try:
            release_expired(opened.share)
        except KafkaError as error:
            _logger.warning(
                "share partition %s: what was released is not stored: %s", opened.share.key, error
            )
        deadline = opened.share.next_deadline()
        if deadline != NEVER and not opened.share.is_fenced:
            self._timers.set(opened.lock_timer, max(0.0, deadline - self.clock()))


class _Opened:
    """A share partition with whose it is."""

    __slots__ = ("leader_epoch", "lock_timer", "partition", "share", "state_epoch")

    def __init__(
        self,
        owner: SharePartitions,
        key: SharePartitionKey,
        partition: Partition,
        leader_epoch: int,
        state_epoch: int,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.state_epoch = state_epoch
        self.share = SharePartition(
            key,
            limits=lambda: owner.settings.limits(key.group_id),
            clock=owner.clock,
            write=lambda update: owner.write(self, update),
            records_available=owner.watchers_of(key).check_and_complete,
        )
        self.lock_timer = Timer(lambda: owner.locks_ran_out(self))
