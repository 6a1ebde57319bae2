"""The records that consumer, share and streams groups have alike, each type under its own keys.

    group metadata       group epoch, hash of the topics' metadata
    member metadata      who a member is, and what it subscribes to
    target metadata      assignment epoch
    target of a member   what a member is to have
    current assignment   what a member has, in which epoch

Further ones are in consumer_records.py, share_records.py and streams_records.py.
Source: Kafka's GroupCoordinatorRecordHelpers, StreamsCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.modern_member import MemberState
from kafkalite.wire.messages import stored

P_co = TypeVar("P_co", covariant=True)

# In the order of their numbers.
_STATES = (MemberState.STABLE, MemberState.UNREVOKED, MemberState.UNRELEASED)
_UNKNOWN_NUMBER = 127


class ModernRecords(Struct, frozen=True, kw_only=True):
    """The classes of keys, and of two values, of the groups of one type, and how the log numbers
    the states of their members: from `first_state` on."""

    group_type: str
    group: type[Any]
    group_value: type[Any]
    member: type[Any]
    target_epoch: type[Any]
    target_epoch_value: type[Any]
    target: type[Any]
    current: type[Any]
    first_state: int = 0

    def prepare(self, further: type[Any]) -> None:
        """Make the encoders, with those of a further key: a first heartbeat would hold the loop."""
        keys = self.group, self.member, self.target_epoch, self.target, self.current
        stored.prepare(*keys, further)

    def number_of(self, state: MemberState) -> int:
        """The number of a member's state in the log."""
        if state is MemberState.UNKNOWN:
            return _UNKNOWN_NUMBER
        return self.first_state + _STATES.index(state)

    def state_of(self, number: int) -> MemberState:
        """The state that has this number in the log."""
        index = number - self.first_state
        return _STATES[index] if 0 <= index < len(_STATES) else MemberState.UNKNOWN

    def group_epoch(self, group_id: str, epoch: int, metadata_hash: int, **more: object) -> Change:
        """The group begins another epoch."""
        value = self.group_value(epoch=epoch, metadata_hash=metadata_hash, **more)
        return self.group(group_id=group_id), value

    def assignment_epoch(self, group_id: str, epoch: int, timestamp_ms: int) -> Change:
        """The targets are those of a group epoch."""
        value = self.target_epoch_value(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
        return self.target_epoch(group_id=group_id), value

    def no_member(self, group_id: str, member_id: str) -> list[Change]:
        """The records that end a member, the last first."""
        keys = (self.current, self.target, self.member)
        return [(key(group_id=group_id, member_id=member_id), None) for key in keys]

    def no_group(
        self, group_id: str, member_ids: Iterable[str], further: Iterable[Change]
    ) -> list[Change]:
        """The records that end a group with all that is in it, `further` ones among it."""
        changes = [change for each in member_ids for change in self.no_member(group_id, each)]
        changes.append((self.target_epoch(group_id=group_id), None))
        changes.extend(further)
        changes.append((self.group(group_id=group_id), None))
        return changes


class MakesPartitions(Protocol[P_co]):
    """A class of messages: partitions of a topic."""

    def __call__(self, *, topic_id: UUID, partitions: list[int]) -> P_co: ...


def rows_by_topic(partitions: Mapping[UUID, Iterable[int]]) -> list[tuple[UUID, list[int]]]:
    """Partitions by topic, as the rows of a message."""
    return [(topic_id, sorted(of_topic)) for topic_id, of_topic in partitions.items()]


def listed(made: MakesPartitions[P_co], partitions: Mapping[UUID, Iterable[int]]) -> list[P_co]:
    """Partitions by topic, as a list of messages."""
    return [
        made(topic_id=topic_id, partitions=sorted(of_topic))
        for topic_id, of_topic in partitions.items()
    ]
