"""Keys and values of `__consumer_offsets`: what survives the coordinator.

Everything a group must not forget is a record in Kafka's schemas. The last record of a key counts,
and a null value (a tombstone) ends it. Apache Kafka reads our records, and we read its.

    record type          key                      value
    1  OffsetCommit      group, topic, partition  offset, leader epoch, metadata, timestamps
    2  GroupMetadata     group                    a classic group: generation, members, assignments
    others               see consumer_records.py, share_records.py, streams_records.py

Source: Kafka's GroupCoordinatorRecordHelpers and its message schemas.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from kafkalite.group_coordinator.offset_table import NO_PRODUCER_ID, NO_TIMESTAMP, CommittedOffset
from kafkalite.wire.errors import KafkaError, ProtocolViolation
from kafkalite.wire.messages.stored import (
    CONSUMER_OFFSETS,
    decode,
    decode_key,
    encode,
    row_encoder,
    value_class_of,
)
from kafkalite.wire.messages.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
)
from kafkalite.wire.messages.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafkalite.wire.record_format import Pair, WrittenPairs

if TYPE_CHECKING:
    from kafkalite.group_coordinator.classic_group import ClassicGroup

StateRecord = Pair
"""Key and value. None is a tombstone."""

StateRecords = Sequence[StateRecord] | WrittenPairs
"""The records of a batch. Those of long requests are written in steps."""

GROUP_METADATA_VERSION: Final = 3
OFFSET_COMMIT_VERSION: Final = 4
OFFSET_COMMIT_VERSION_WITH_EXPIRY: Final = 1  # the only one with an expire timestamp

# Raised by a record whose content makes no sense, or which has a state that is not known.
UNREADABLE: Final = (KafkaError, ProtocolViolation, ValueError)

_encode_group: Final = row_encoder(GroupMetadataValue, GROUP_METADATA_VERSION)
_encode_key: Final = row_encoder(OffsetCommitKey)
_encode_value: Final = row_encoder(OffsetCommitValue, OFFSET_COMMIT_VERSION)
_encode_value_with_expiry: Final = row_encoder(OffsetCommitValue, OFFSET_COMMIT_VERSION_WITH_EXPIRY)
_PARTITION_BYTES: Final = 4
_pack_partition: Final = Struct(">i").pack
_VALUE_START_BYTES: Final = 14
_pack_value_start: Final = Struct(">hqi").pack  # version, offset, leader epoch
_pack_timestamp: Final = Struct(">q").pack
_TIMESTAMP_BYTES: Final = 8
# Groups commit for the same topics, with the same metadata, again and again.
_KEPT: Final = 1024


@dataclass(slots=True)
class ReplayedRecord:
    """A record as it is read back. `producer_id` is -1 outside transactions."""

    offset: int
    key: bytes
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID


@dataclass(slots=True)
class ReplayedMarker:
    """The end of a transaction."""

    producer_id: int
    committed: bool


class OffsetLog(Protocol):
    """The topic `__consumer_offsets`, which the broker implements with its partitions."""

    @property
    def partition_count(self) -> int:
        """0 while the topic does not exist."""
        ...

    def leader_id(self, partition: int) -> int | None:
        """The node that coordinates the groups of this partition."""
        ...

    def end_offset(self, partition: int) -> int:
        """The offset of the partition's next record."""
        ...

    def append(
        self,
        partition: int,
        records: StateRecords,
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = -1,
    ) -> int:
        """Write the records as one batch, all or nothing; the first one's offset.

        With a producer id, the batch belongs to that producer's transaction. Raises KafkaError
        with the code that Kafka's coordinator answers when it cannot write.
        """
        ...

    def replay(self, partition: int) -> Iterable[ReplayedRecord | ReplayedMarker]:
        """All that is in the partition, in order."""
        ...

    def take_offline(self, partition: int, reason: Exception) -> None:
        """Serve the partition no more: it has a record that is not readable."""
        ...


class CommitEncoder:
    """Encodes what a group commits for one topic at one time.

    Of a key only the partition differs then, its last four bytes, and of a value the offset and the
    leader epoch, its first. So the rest is encoded once, not for each partition; and what does not
    depend on the time is kept.
    """

    __slots__ = ("_end", "_expires", "_key_start", "_metadata", "_rest")

    def __init__(
        self, group_id: str, topic: str, topic_id: UUID, now_ms: int, expire_ms: int
    ) -> None:
        self._key_start = _key_start(group_id, topic)
        self._rest = (now_ms, expire_ms, topic_id)
        self._expires = expire_ms != NO_TIMESTAMP
        # The end of the last value, and its metadata: most commits have the same, none.
        self._end = b""
        self._metadata = ""

    def record(self, partition: int, offset: int, leader_epoch: int, metadata: str) -> StateRecord:
        """The record of a committed offset."""
        key = self._key_start + _pack_partition(partition)
        if self._expires:
            return key, _encode_value_with_expiry((offset, leader_epoch, metadata, *self._rest))
        if metadata != self._metadata or not self._end:
            now_ms, _, topic_id = self._rest
            before, after = _around_timestamp(metadata, topic_id.int)
            self._end, self._metadata = before + _pack_timestamp(now_ms) + after, metadata
        return key, _pack_value_start(OFFSET_COMMIT_VERSION, offset, leader_epoch) + self._end


@lru_cache(maxsize=_KEPT)
def _key_start(group_id: str, topic: str) -> bytes:
    return _encode_key((group_id, topic, 0))[:-_PARTITION_BYTES]


@lru_cache(maxsize=_KEPT)
def _around_timestamp(metadata: str, topic_id: int) -> tuple[bytes, bytes]:
    """A value after its leader epoch, without the time of the commit; a topic's id as a number."""
    one, other = (
        _encode_value((0, 0, metadata, now_ms, NO_TIMESTAMP, UUID(int=topic_id)))
        for now_ms in (0, -1)
    )
    here = next(i for i, byte in enumerate(one) if byte != other[i])
    return one[_VALUE_START_BYTES:here], one[here + _TIMESTAMP_BYTES :]


def offset_tombstone(group_id: str, topic: str, partition: int) -> StateRecord:
    return _key_start(group_id, topic) + _pack_partition(partition), None


def committed_offset(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    return CommittedOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=value.expire_timestamp,
        topic_id=value.topic_id,
        record_offset=record_offset,
    )


def group_metadata(group: "ClassicGroup") -> StateRecord:
    """The group as it is: generation, leader, members with their assignments."""
    protocol = group.protocol_name
    # Rows of GroupMetadataValue and MemberMetadata: thousands of members are encoded in one turn.
    value = _encode_group(
        (
            group.protocol_type or "",
            group.generation_id,
            protocol,
            group.leader_id,
            group.state_changed_at_ms,
            [
                (
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(protocol),
                    member.assignment,
                )
                for member in group.members.values()
            ],
        )
    )
    return group_key(group.group_id), value


def encoded(key: object, value: object | None) -> StateRecord:
    """A record of the newer kinds, whose values have one version so far."""
    return encode(key), None if value is None else encode(value)


def group_tombstone(group_id: str) -> StateRecord:
    return group_key(group_id), None


def group_key(group_id: str) -> bytes:
    return encode(GroupMetadataKey(group=group_id))


def decoded(record: ReplayedRecord) -> tuple[object, object | None]:
    """Key and value of a record of `__consumer_offsets`; (None, None) if its kind is unknown."""
    key = decode_key(record.key, CONSUMER_OFFSETS)
    if key is None or record.value is None:
        return key, None
    return key, decode(value_class_of(key), record.value)
