"""The stored state of a share partition: snapshots say all, updates what has changed."""

from __future__ import annotations

from uuid import UUID

from kafkalite.coordinators.share_coordinator.share_state import (
    Record,
    ShareState,
    snapshot_record,
    state_of,
    tombstone,
    update_record,
)
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.wire.messages.stored import SHARE_GROUP_STATE, decode, decode_key, value_class_of
from kafkalite.wire.messages.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from kafkalite.wire.messages.stored.share_update import ShareUpdateKey, ShareUpdateValue

KEY = SharePartitionKey("g", UUID(int=5), 3)
STATE = ShareState(
    snapshot_epoch=4,
    state_epoch=2,
    leader_epoch=7,
    start_offset=100,
    delivery_complete_count=1,
    batches=[StateBatch(100, 104, 0, 2), StateBatch(110, 110, 2, 1)],
    create_timestamp_ms=11,
    write_timestamp_ms=12,
)


def decoded(record: Record) -> tuple[object, object | None]:
    key = decode_key(record[0], SHARE_GROUP_STATE)
    assert key is not None
    return key, None if record[1] is None else decode(value_class_of(key), record[1])


def test_a_snapshot_says_all() -> None:
    key, value = decoded(snapshot_record(KEY, STATE))
    assert key == ShareSnapshotKey(group_id="g", topic_id=UUID(int=5), partition=3)
    assert isinstance(value, ShareSnapshotValue)
    assert state_of(value) == STATE


def test_a_tombstone_has_the_key_of_a_snapshot() -> None:
    key, value = decoded(tombstone(KEY))
    assert (key, value) == (ShareSnapshotKey(group_id="g", topic_id=UUID(int=5), partition=3), None)


def update_of(state: ShareState) -> ShareUpdateValue:
    key, value = decoded(update_record(KEY, state))
    assert key == ShareUpdateKey(group_id="g", topic_id=UUID(int=5), partition=3)
    assert isinstance(value, ShareUpdateValue)
    return value


def test_an_update_is_laid_over_the_state() -> None:
    new = [StateBatch(105, 106, 2, 1), StateBatch(100, 101, 4, 3)]
    changed = STATE.updated(
        update_of(
            ShareState(
                snapshot_epoch=4,
                leader_epoch=8,
                start_offset=101,
                delivery_complete_count=5,
                batches=new,
            )
        )
    )
    assert (changed.leader_epoch, changed.start_offset) == (8, 101)
    assert changed.delivery_complete_count == 5
    assert changed.batches == [
        StateBatch(101, 101, 4, 3),
        StateBatch(102, 104, 0, 2),
        StateBatch(105, 106, 2, 1),
        StateBatch(110, 110, 2, 1),
    ]
    # The rest is the snapshot's.
    assert (changed.state_epoch, changed.snapshot_epoch) == (2, 4)
    assert (changed.create_timestamp_ms, changed.write_timestamp_ms) == (11, 12)


def test_minus_one_leaves_what_there_was() -> None:
    update = update_of(ShareState(leader_epoch=-1, start_offset=-1, delivery_complete_count=1))
    changed = STATE.updated(update)
    assert (changed.leader_epoch, changed.start_offset) == (7, 100)
    assert changed.batches == STATE.batches
