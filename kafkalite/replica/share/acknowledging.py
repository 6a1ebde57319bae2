"""The acknowledgements of one request, for all its partitions (handleAcknowledgements)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from kafkalite.replica.share.acknowledgement import (
    Acknowledgement,
    AcknowledgeType,
    RequestFailed,
    Settle,
    acknowledge,
)
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.share_sessions import SessionKey, TopicPartitionId
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.share.share_partitions import SharePartitions

RENEWALS_SINCE: Final = 2  # ShareFetch, ShareAcknowledge

Outcomes = Mapping[TopicPartitionId, KafkaError | None]
"""The outcome of the acknowledgements for a partition: None is "done"."""


class _Batch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class _Partition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[_Batch]: ...


class _Topic(Protocol):
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[_Partition]: ...


def acknowledge_all(
    partitions: SharePartitions,
    node_id: int,
    member: SessionKey,
    topics: Iterable[_Topic],
    *,
    api_version: int,
    is_renewal: bool,
    may_read: Callable[[str], bool] | None = None,
    later: list[Settle] | None = None,
) -> Outcomes:
    """Do as the member says, each partition on its own, of topics that it may read.

    It counts at once, or when the caller settles what `later` gets. Raises RequestFailed.
    """
    outcomes: dict[TopicPartitionId, KafkaError | None] = {}
    asked: dict[TopicPartitionId, Sequence[_Batch]] = {}
    for topic in topics:
        for each in topic.partitions:
            where = TopicPartitionId(topic.topic_id, each.partition_index)
            if not partitions.is_topic(topic.topic_id):
                outcomes[where] = KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                asked[where] = each.acknowledgement_batches
    most = AcknowledgeType.RENEW if api_version >= RENEWALS_SINCE else AcknowledgeType.REJECT
    for where, batches in list(asked.items()):
        if not _are_sound(batches, most, is_renewal=is_renewal):
            outcomes[where] = KafkaError(ErrorCode.INVALID_REQUEST)
        elif may_read is not None and not may_read(partitions.topic_name(where.topic_id) or ""):
            outcomes[where] = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif not partitions.is_known(where):
            outcomes[where] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            continue
        del asked[where]
    if not any(asked.values()):
        return outcomes
    for where, batches in asked.items():
        outcomes[where] = None
        if batches:
            try:
                _acknowledge(partitions, node_id, member, where, batches, later)
            except RequestFailed:
                raise
            except KafkaError as error:
                outcomes[where] = error
    return outcomes


def _acknowledge(
    partitions: SharePartitions,
    node_id: int,
    member: SessionKey,
    where: TopicPartitionId,
    batches: Sequence[_Batch],
    later: list[Settle] | None,
) -> None:
    key = SharePartitionKey(member.group_id, where.topic_id, where.partition)
    share = partitions.get(key)
    if share is None or partitions.leader_of(where) != node_id:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, default_message(code))
    said = [
        Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
        for batch in batches
    ]
    try:
        acknowledge(share, member.member_id, said, later)
    except KafkaError as error:
        partitions.drop_if_fenced(key, error)
        raise
    for each in said:
        if len(each.types) == 1:
            partitions.acknowledged[each.types[0]] += each.last_offset - each.first_offset + 1
        else:
            partitions.acknowledged.update(each.types)


def _are_sound(batches: Sequence[_Batch], most: int, *, is_renewal: bool) -> bool:
    """True if batches follow one another, and have one type for all offsets or one for each."""
    previous = -1
    for batch in batches:
        types = batch.acknowledge_types
        if batch.first_offset > batch.last_offset or batch.first_offset < previous or not types:
            return False
        if len(types) > 1 and batch.last_offset - batch.first_offset != len(types) - 1:
            return False
        if any(not 0 <= kind <= most for kind in types):
            return False
        if AcknowledgeType.RENEW in types and not is_renewal:
            return False
        previous = batch.last_offset
    return True
