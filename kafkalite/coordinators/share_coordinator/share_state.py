"""The stored state of one share partition, and the records that say it.

A snapshot says all; an update says what has changed since. The share group's state epoch grows when
its offsets are set anew, the leader epoch is that of the partition's leader who last asked: writes
that come from before either of them are refused. Source: Kafka's ShareGroupOffset,
ShareCoordinatorShard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch, combine
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored import encode, share_snapshot, share_update
from kafkalite.wire.messages.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from kafkalite.wire.messages.stored.share_update import ShareUpdateKey, ShareUpdateValue

NO_START_OFFSET: Final = -1
NO_DELIVERY_COMPLETE_COUNT: Final = -1
NO_EPOCH: Final = -1

Record = tuple[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class ShareState:
    """The position of a share group in a partition. `start_offset` is -1 until it is decided."""

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = NO_START_OFFSET
    delivery_complete_count: int = NO_DELIVERY_COMPLETE_COUNT
    batches: Sequence[StateBatch] = ()
    create_timestamp_ms: int = 0
    write_timestamp_ms: int = 0

    @property
    def is_cold(self) -> bool:
        """True if its last snapshot only repeated the one before."""
        return self.create_timestamp_ms != self.write_timestamp_ms

    def updated(self, update: ShareUpdateValue) -> ShareState:
        """The state after an update."""
        start_offset = self.start_offset if update.start_offset == -1 else update.start_offset
        new = batches_from(update.state_batches)
        return replace(
            self,
            leader_epoch=self.leader_epoch if update.leader_epoch == -1 else update.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=update.delivery_complete_count,
            batches=combine(self.batches, new, start_offset),
        )


@dataclass(slots=True)
class Kept:
    """A state in memory. The highest epochs outlive a state that is initialized anew."""

    state: ShareState
    highest_leader_epoch: int
    highest_state_epoch: int
    snapshot_offset: int = -1
    """The offset of its last snapshot: what is before says nothing of this state."""
    update_count: int = field(default=0)
    """Updates since a snapshot was due."""


class Shard:
    """The states in one partition of the topic, as led in one epoch."""

    def __init__(self, leader_epoch: int) -> None:
        self.leader_epoch = leader_epoch
        self.kept: dict[SharePartitionKey, Kept] = {}
        self.last_offset = -1
        self.pruned_offset = -1
        self.is_loaded = False

    def initialized(self, key: SharePartitionKey, operation: str) -> Kept:
        """The state of a share partition. Raises KafkaError(INVALID_REQUEST)."""
        kept = self.kept.get(key)
        if kept is None:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{operation} operation on uninitialized share partition not allowed.",
            )
        return kept


class ListedBatch(Protocol):
    """A batch in a message."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


def batches_from(listed: Iterable[ListedBatch]) -> list[StateBatch]:
    """The batches in a message."""
    return [
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in listed
    ]


def state_of(value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        batches_from(value.state_batches),
        value.create_timestamp,
        value.write_timestamp,
    )


def snapshot_record(key: SharePartitionKey, state: ShareState) -> Record:
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.create_timestamp_ms,
        write_timestamp=state.write_timestamp_ms,
        state_batches=[share_snapshot.StateBatch(*batch) for batch in state.batches],
    )
    return _snapshot_key(key), encode(value)


def update_record(key: SharePartitionKey, state: ShareState) -> Record:
    """`state` is what has changed: its batches are the new ones."""
    value = ShareUpdateValue(
        snapshot_epoch=state.snapshot_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=[share_update.StateBatch(*batch) for batch in state.batches],
    )
    encoded_key = encode(
        ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    )
    return encoded_key, encode(value)


def tombstone(key: SharePartitionKey) -> Record:
    return _snapshot_key(key), None


def _snapshot_key(key: SharePartitionKey) -> bytes:
    return encode(
        ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    )
