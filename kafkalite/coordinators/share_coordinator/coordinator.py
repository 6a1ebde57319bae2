"""ShareCoordinator: initialize, read, write and delete the state of share partitions.

Every write is one record, durable before it counts. A record is applied in the same way when it is
written and when it is read back. After so many updates comes a snapshot. Partitions without writes
get one in time, so that old records can be forgotten.

A partition of the topic is loaded when this process leads it, and for each leader epoch anew. That
may take a while, in which its states are refused. Among several processes an answer waits for the
replicas (replication_gate.py).

Source: Kafka's ShareCoordinatorShard, ShareCoordinatorOffsetsManager, CoordinatorRuntime.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.share_coordinator.share_state import (
    NO_DELIVERY_COMPLETE_COUNT,
    NO_EPOCH,
    NO_START_OFFSET,
    Kept,
    Record,
    Shard,
    ShareState,
    snapshot_record,
    state_of,
    tombstone,
    update_record,
)
from kafkalite.log.loggers import logger_of
from kafkalite.log.said_once import SaidOnce
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch, combine
from kafkalite.requests.slices import Steps, at_once, cut
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored import SHARE_GROUP_STATE, decode, decode_key, value_class_of
from kafkalite.wire.messages.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from kafkalite.wire.messages.stored.share_update import ShareUpdateKey, ShareUpdateValue

if TYPE_CHECKING:
    from kafkalite.coordinators.share_coordinator.state_log import ShareStateLog

_logger = logger_of(__name__)


@dataclass(frozen=True, slots=True)
class ShareCoordinatorConfig:
    """The broker's configuration; field names are the configs'."""

    share_coordinator_snapshot_update_records_per_snapshot: int = 500
    share_coordinator_cold_partition_snapshot_interval_ms: int = 300_000
    share_coordinator_state_topic_prune_interval_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class Write:
    """A change of a share partition's state; -1 leaves start offset or leader epoch."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class ShareCoordinator:
    """The states of all share partitions of this process.

    `partition_count(topic_id)` is 0 if there is no such topic. `now_ms` is the wall clock. `load`
    takes the steps that load a partition. `lost` is told of each state that is read back, as an
    update that was taken could not be written.
    """

    def __init__(
        self,
        config: ShareCoordinatorConfig,
        log: ShareStateLog,
        *,
        partition_count: Callable[[UUID], int],
        now_ms: Callable[[], int],
        load: Callable[[Steps[None]], object] = at_once,
        lost: Callable[[SharePartitionKey], None] = lambda key: None,
    ) -> None:
        self.config = config
        self.log = log
        self._lost = lost
        if log.linger is not None:
            log.linger.lost = self._read_back
        self._partition_count = partition_count
        self._now_ms = now_ms
        self._load = load
        self._topic_id: UUID | None = None
        self._shards: dict[int, Shard] = {}
        self.write_count = 0
        self._snapshot_trouble = SaidOnce("snapshots of share states", _logger, logging.WARNING)
        self._prune_trouble = SaidOnce("pruning of share states", _logger, logging.WARNING)

    # Requests

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        """Begin anew. Raises KafkaError: INVALID_REQUEST, FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION, and what writing raises."""
        _check_index(key)
        shard = self._shard_of(key)
        kept = shard.kept.get(key)
        if kept is not None and NO_EPOCH != state_epoch < kept.highest_state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_topic(key)
        now_ms = self._now_ms()
        no_offset = start_offset == NO_START_OFFSET
        state = ShareState(
            snapshot_epoch=0 if kept is None else kept.state.snapshot_epoch + 1,
            state_epoch=state_epoch,
            start_offset=start_offset,
            delivery_complete_count=NO_DELIVERY_COMPLETE_COUNT if no_offset else 0,
            create_timestamp_ms=now_ms,
            write_timestamp_ms=now_ms,
        )
        self._append(key, shard, snapshot_record(key, state))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """The state before the request. From then on only writes with this leader epoch, or a later
        one, are taken.

        Raises KafkaError: INVALID_REQUEST, FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_index(key)
        shard = self._shard_of(key)
        kept = shard.initialized(key, "Read")
        self._check_leader_epoch(kept, leader_epoch)
        self._check_topic(key)
        state = kept.state
        if leader_epoch not in (NO_EPOCH, kept.highest_leader_epoch):
            write = Write(
                state.state_epoch,
                leader_epoch,
                state.start_offset,
                state.delivery_complete_count,
                [],
            )
            record = self._record(key, kept, write, leader_epoch)
            self._append(key, shard, record, may_linger=True)
        return state

    def write(self, key: SharePartitionKey, write: Write) -> None:
        """Change the state. Raises KafkaError: INVALID_REQUEST, FENCED_LEADER_EPOCH,
        FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, and what writing raises."""
        _check_index(key)
        shard = self._shard_of(key)
        kept = shard.initialized(key, "Write")
        self._check_leader_epoch(kept, write.leader_epoch)
        if NO_EPOCH != write.state_epoch < kept.highest_state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_topic(key)
        record = self._record(key, kept, write, kept.state.leader_epoch)
        self._append(key, shard, record, may_linger=True)
        self.write_count += 1

    def delete(self, key: SharePartitionKey) -> None:
        """Forget the state, if there is one. Raises KafkaError."""
        _check_index(key)
        shard = self._shard_of(key)
        self._check_topic(key)
        if key in shard.kept:
            self._append(key, shard, tombstone(key))

    def summary(self, key: SharePartitionKey) -> ShareState | None:
        """The state, None if there is none. Raises KafkaError."""
        _check_index(key)
        shard = self._shard_of(key)
        self._check_topic(key)
        kept = shard.kept.get(key)
        return None if kept is None else kept.state

    def topics_deleted(self, topic_ids: Collection[UUID]) -> Steps[None]:
        """Forget the states of topics that are gone."""
        for shard in list(self._shards_here()):
            gone = [key for key in shard.kept if key.topic_id in topic_ids]
            try:
                for some in cut(gone):
                    if all(found is not shard for _, found in self._loaded()):
                        break  # others lead by now
                    for key in some:
                        if key in shard.kept:
                            self._append(key, shard, tombstone(key))
                    yield
            except KafkaError as error:
                _logger.warning("the state of deleted topics stays in the log: %s", error)

    # Elections

    def leaders_changed(self) -> None:
        """Load the partitions that are led here now, or in another epoch; forget the others."""
        for _ in self._shards_here():
            pass

    def _shards_here(self) -> Iterator[Shard]:
        """The partitions that are loaded here. Begins to load those that should be and are not."""
        for index in range(self.log.partition_count):
            try:
                yield self._shard(index)
            except KafkaError:
                continue

    # Time

    def snapshot_cold_partitions(self) -> None:
        """Write a snapshot of each state whose last is old, to forget what is before."""
        now_ms = self._now_ms()
        interval_ms = self.config.share_coordinator_cold_partition_snapshot_interval_ms
        for _, shard in self._loaded():
            if all(kept.state.is_cold for kept in shard.kept.values()):
                continue
            for key, kept in list(shard.kept.items()):
                state = kept.state
                if now_ms - state.write_timestamp_ms < interval_ms:
                    continue
                cold = replace(
                    state, snapshot_epoch=state.snapshot_epoch + 1, write_timestamp_ms=now_ms
                )
                try:
                    self._append(key, shard, snapshot_record(key, cold))
                except KafkaError as error:
                    self._snapshot_trouble.failed(error, interval_ms / 1000)
                    break

    def prune(self) -> None:
        """Forget the records that snapshots have superseded."""
        interval_ms = self.config.share_coordinator_state_topic_prune_interval_ms
        for index, shard in self._loaded():
            offsets = [kept.snapshot_offset for kept in shard.kept.values()] or [shard.last_offset]
            offset = min(offsets)
            # A snapshot that is not replicated supersedes nothing yet.
            if max(offsets) >= self.log.partition(index).high_watermark:
                continue
            if offset <= 0 or offset == shard.pruned_offset:
                continue
            try:
                self.log.delete_before(index, offset)
            except KafkaError as error:
                self._prune_trouble.failed(error, interval_ms / 1000)
            else:
                shard.pruned_offset = offset

    # Inside

    def _record(
        self, key: SharePartitionKey, kept: Kept, write: Write, leader_epoch: int
    ) -> Record:
        """An update, or, when it is time for one, a snapshot."""
        state = kept.state
        most = self.config.share_coordinator_snapshot_update_records_per_snapshot
        changed = replace(
            state,
            leader_epoch=leader_epoch,
            delivery_complete_count=write.delivery_complete_count,
        )
        if kept.update_count < most:
            new = combine([], write.batches, write.start_offset)
            return update_record(
                key, replace(changed, start_offset=write.start_offset, batches=new)
            )
        now_ms = self._now_ms()
        start_offset = state.start_offset if write.start_offset == -1 else write.start_offset
        return snapshot_record(
            key,
            replace(
                changed,
                snapshot_epoch=state.snapshot_epoch + 1,
                start_offset=start_offset,
                batches=combine(state.batches, write.batches, start_offset),
                create_timestamp_ms=now_ms,
                write_timestamp_ms=now_ms,
            ),
        )

    def _append(
        self, key: SharePartitionKey, shard: Shard, record: Record, *, may_linger: bool = False
    ) -> None:
        offset = self.log.append(self.log.index_of_state(key), [record], may_linger=may_linger)
        stored_key = decode_key(record[0], SHARE_GROUP_STATE)
        value = record[1]
        decoded = None if value is None else decode(value_class_of(stored_key), value)
        self._apply(shard, offset, stored_key, decoded)

    def _apply(self, shard: Shard, offset: int, key: object, value: object | None) -> None:
        shard.last_offset = offset
        if isinstance(key, ShareSnapshotKey):
            whose = SharePartitionKey(key.group_id, key.topic_id, key.partition)
            if isinstance(value, ShareSnapshotValue):
                self._apply_snapshot(shard, offset, whose, value)
            else:
                shard.kept.pop(whose, None)
        elif isinstance(key, ShareUpdateKey) and isinstance(value, ShareUpdateValue):
            whose = SharePartitionKey(key.group_id, key.topic_id, key.partition)
            kept = shard.kept.get(whose)
            if kept is None:
                kept = shard.kept[whose] = Kept(ShareState(value.snapshot_epoch), 0, 0)
            kept.state = kept.state.updated(value)
            kept.highest_leader_epoch = max(kept.highest_leader_epoch, value.leader_epoch)
            kept.update_count += 1

    def _apply_snapshot(
        self, shard: Shard, offset: int, key: SharePartitionKey, value: ShareSnapshotValue
    ) -> None:
        state = state_of(value)
        kept = shard.kept.get(key)
        if kept is None:
            shard.kept[key] = Kept(state, state.leader_epoch, state.state_epoch, offset)
            return
        most = self.config.share_coordinator_snapshot_update_records_per_snapshot
        kept.state = state
        kept.snapshot_offset = offset
        kept.highest_leader_epoch = max(kept.highest_leader_epoch, state.leader_epoch)
        kept.highest_state_epoch = max(kept.highest_state_epoch, state.state_epoch)
        if kept.update_count >= most:
            kept.update_count = 0

    def _read_back(self, index: int) -> None:
        """Forget a partition; it is loaded again."""
        shard = self._shards.pop(index, None)
        for key in () if shard is None else list(shard.kept):
            self._lost(key)

    def _loaded(self) -> list[tuple[int, Shard]]:
        return [
            (index, shard)
            for index, shard in self._shards.items()
            if shard.is_loaded and self._is_led(index, shard)
        ]

    def _shard_of(self, key: SharePartitionKey) -> Shard:
        return self._shard(self.log.index_of_state(key))

    def _shard(self, index: int) -> Shard:
        """A partition; begins to load it if that was not begun before.

        Raises KafkaError: NOT_COORDINATOR where others lead, COORDINATOR_LOAD_IN_PROGRESS.
        """
        topic_id = self.log.topic_id
        if topic_id != self._topic_id:
            self._shards.clear()
            self._topic_id = topic_id
        partition = self.log.partition(index)
        if partition.coordinated_here < 0:
            self._shards.pop(index, None)
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        shard = self._shards.get(index)
        if shard is None or shard.leader_epoch != partition.leader_epoch:
            self._shards[index] = shard = Shard(partition.leader_epoch)
            self._load(self._loading(index, shard))
            if self._shards.get(index) is not shard:
                raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if not shard.is_loaded:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def _loading(self, index: int, shard: Shard) -> Steps[None]:
        """Load a partition, one record a step, unless it is led elsewhere meanwhile.

        Nothing is written to it meanwhile, as its states are refused.
        """
        try:
            for offset, key, value in self.log.replay(index) if self._is_led(index, shard) else ():
                self._apply(shard, offset, key, value)
                yield
                if not self._is_led(index, shard):
                    return
            # A log that cannot be read is offline by now.
            shard.is_loaded = self._is_led(index, shard)
        finally:
            if not shard.is_loaded and self._shards.get(index) is shard:
                del self._shards[index]

    def _is_led(self, index: int, shard: Shard) -> bool:
        if self._shards.get(index) is not shard or index >= self.log.partition_count:
            return False
        partition = self.log.partition(index)
        return partition.coordinated_here >= 0 and partition.leader_epoch == shard.leader_epoch

    def _check_topic(self, key: SharePartitionKey) -> None:
        if key.partition >= self._partition_count(key.topic_id):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _check_leader_epoch(self, kept: Kept, leader_epoch: int) -> None:
        if NO_EPOCH != leader_epoch < kept.highest_leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)


def _check_index(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
