"""One partition of `__consumer_offsets` in memory: its groups and their offsets.

What a shard holds is what its records say, so that loading it is applying them in order; and
whatever changes it is written first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_replay import classic_group_from
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.offset_table import OffsetTable
from kafkalite.group_coordinator.state_log import ReplayedMarker, ReplayedRecord
from kafkalite.wire.messages.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafkalite.wire.messages.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_group import ShareGroup
    from kafkalite.group_coordinator.streams_group import StreamsGroup

# The last two are imported when one is met.
AnyModernGroup: TypeAlias = "ConsumerGroup | ShareGroup | StreamsGroup"
Group: TypeAlias = "ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup"


class Shard:
    """Groups by id, and all their offsets."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetTable()

    def seen(self, group_id: str, log_end_offset: int) -> Group | None:
        """The group as those who only look see it: one without a record is not there yet.

        That is a new group all of whose first offsets were refused. It is seen once any record is
        written to its partition.
        """
        group = self.groups.get(group_id)
        if isinstance(group, ClassicGroup) and group.made_at >= log_end_offset:
            return None
        return group

    def apply(self, entry: ReplayedRecord | ReplayedMarker, now_ms: int) -> None:
        """Take in what was written, in order."""
        if isinstance(entry, ReplayedMarker):
            self.offsets.end_transaction(entry.producer_id, committed=entry.committed)
        else:
            self._apply(entry, now_ms)

    def _apply(self, record: ReplayedRecord, now_ms: int) -> None:
        match state_log.decoded(record):
            case OffsetCommitKey() as key, OffsetCommitValue() | None as value:
                if value is not None and key.group not in self.groups:
                    # Somebody keeps offsets under a name that never had members.
                    self.groups[key.group] = ClassicGroup(key.group, now_ms=now_ms)
                self.offsets.apply(
                    key.group,
                    key.topic,
                    key.partition,
                    None if value is None else state_log.committed_offset(value, record.offset),
                    record.producer_id,
                )
            case GroupMetadataKey() as key, GroupMetadataValue() as value:
                self.groups[key.group] = classic_group_from(key.group, value)
            case GroupMetadataKey() as key, None:
                self._forget(key.group, ClassicGroup)
            case key, value if (kind := _kind_of(key)) is not None:
                self._apply_to_modern_group(kind, key, value, now_ms)
            case _:
                pass  # of a kind unknown to us (a newer Kafka's): it stays in the log

    def _forget(self, group_id: str, kind: type[Any]) -> None:
        """Take in a tombstone. A group that has changed its type meanwhile stays."""
        if isinstance(self.groups.get(group_id), kind):
            del self.groups[group_id]

    def _apply_to_modern_group(
        self, kind: type[AnyModernGroup], key: Any, value: object, now_ms: int
    ) -> None:
        if isinstance(key, kind.records.group) and value is None:
            self._forget(key.group_id, kind)
            return
        group = self.groups.get(key.group_id)
        if not isinstance(group, kind):
            if value is None:
                return
            group = self.groups[key.group_id] = kind(key.group_id)
        group.apply(key, value, now_ms)


def _kind_of(key: object) -> type[AnyModernGroup] | None:
    """The class of groups that have records with such keys; None if no group has."""
    match type(key).__module__.rpartition(".")[2].partition("_group_")[0]:
        case "consumer":
            return ConsumerGroup
        case "share":
            from kafkalite.group_coordinator.share_group import ShareGroup

            return ShareGroup
        case "streams":
            from kafkalite.group_coordinator.streams_group import StreamsGroup

            return StreamsGroup
        case _:
            return None
